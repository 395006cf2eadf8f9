"""Operations on open files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.store import Store

KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 0x01, 0x02, 0x10
"""FALLOC_FL_*, linux/falloc.h."""
SEEK_DATA, SEEK_HOLE = 3, 4


class DataOperations:
    """Reads and writes are one step each under the store's lock, and O_APPEND finds the end itself."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._write: Callable[[Call, Handle, int, memoryview, int], int] = self.write

    def bind(self, write: Callable[[Call, Handle, int, memoryview, int], int]) -> None:
        """Copy by the table's write, so that who replaces it there is asked."""
        self._write = write

    def open(self, call: Call, number: int, flags: int) -> Handle:
        """Works on an unlinked inode, too, as long as a client may have looked it up before."""
        store = self.store
        with store.lock:
            inode = store.inode(number)
            if flags & os.O_TRUNC:
                self._truncate(inode)
            return store.open_handle(call, inode, flags)

    def _truncate(self, inode: Inode) -> None:
        self.store.resize(inode, 0)
        inode.mtime = inode.ctime = self.store.now()

    def read(self, call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        """At most `size` bytes, fewer only at the end of the file."""
        handle.closing = False
        with self.store.lock:
            return bytes(memoryview(handle.inode.data)[offset : offset + size])

    def write(self, call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        """Bytes written: all. Raises ENOSPC."""
        store, inode = self.store, handle.inode
        handle.closing = False
        with store.lock:
            if flags & os.O_APPEND:
                offset = len(inode.data)
            end = offset + len(data)
            if end > len(inode.data):
                store.reserve(end - len(inode.data))
                if offset > len(inode.data):
                    inode.data.extend(bytes(offset - len(inode.data)))
            inode.data[offset:end] = data
            inode.mtime = inode.ctime = store.now()
        return len(data)

    def flush(self, call: Call, handle: Handle, owner: int) -> None:
        """close(2) of one descriptor: drops the POSIX locks of its owner (fcntl(2))."""
        handle.closing = True
        table = handle.inode.locks
        if table is not None:
            with self.store.lock:
                table.drop((call.client.number, owner), is_flock=False)
                self.store.changed.notify_all()

    def sync(self, call: Call, handle: Handle, data_only: bool) -> None:
        """fsync(2), fdatasync(2)."""

    def release(self, call: Call, handle: Handle, owner: int, drop_flock: bool) -> None:
        """The last descriptor of an open file is gone."""
        with self.store.lock:
            if drop_flock and handle.inode.locks is not None:
                handle.inode.locks.drop((call.client.number, owner), is_flock=True)
                self.store.changed.notify_all()
            self.store.close_handle(handle)

    def allocate(self, call: Call, handle: Handle, offset: int, length: int, mode: int) -> None:
        """fallocate(2): plain, keep size, punch hole, zero range."""
        if mode not in (0, KEEP_SIZE, PUNCH_HOLE | KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE):
            raise RefusalError(errno.EOPNOTSUPP)
        store, inode = self.store, handle.inode
        with store.lock:
            end = offset + length
            if not mode & KEEP_SIZE and end > len(inode.data):
                store.resize(inode, end)
            if mode & (PUNCH_HOLE | ZERO_RANGE):
                stop = min(end, len(inode.data))
                inode.data[offset:stop] = bytes(max(0, stop - offset))
            inode.mtime = inode.ctime = store.now()

    def seek(self, call: Call, handle: Handle, offset: int, whence: int) -> int:
        """SEEK_DATA and SEEK_HOLE: one extent of data. Raises ENXIO at or after the end."""
        size = len(handle.inode.data)
        if offset >= size:
            raise RefusalError(errno.ENXIO)
        return offset if whence == SEEK_DATA else size

    def copy_range(
        self, call: Call, source: Handle, source_offset: int, target: Handle, offset: int, length: int
    ) -> int:
        """copy_file_range(2) inside the server.

        The client's kernel cuts the request at the length that it remembers (fs/read_write.c
        generic_copy_file_checks) without asking: on a descriptor held while others append, look first. Pushing lengths
        into its page cache (FUSE_NOTIFY_STORE) would cure that and must not be done: two clients that write one file
        then wait for each other's locked pages inside the kernel, for ever.
        """
        with self.store.lock:
            data = bytes(memoryview(source.inode.data)[source_offset : source_offset + length])
        return self._write(call, target, offset, memoryview(data), 0)
