"""Listings: a snapshot per pass, taken when a directory is first read and again when it is rewound."""

from __future__ import annotations

import errno
from collections.abc import Callable

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import DirectoryHandle
from fsconform.lab.store import Store

Listing = list[tuple[bytes, int]]


class ListingOperations:
    """Directories that are read. POSIX leaves open whether names that come or go meanwhile are shown."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._fresh: Callable[[Call, DirectoryHandle], Listing] = self.names

    def bind(self, fresh: Callable[[Call, DirectoryHandle], Listing]) -> None:
        """Take fresh listings from the table, so that who replaces `list_names` there is asked."""
        self._fresh = fresh

    def open(self, call: Call, number: int) -> DirectoryHandle:
        """opendir."""
        store = self.store
        with store.lock:
            inode = store.inode(number)
            if inode.children is None:
                raise RefusalError(errno.ENOTDIR)
            handle = DirectoryHandle(store.next_handle, inode)
            store.next_handle += 1
            store.directories[handle.number] = handle
            inode.opens += 1
            return handle

    def names(self, call: Call, handle: DirectoryHandle) -> Listing:
        """Every name at this moment, with node ids."""
        with self.store.lock:
            directory = handle.inode
            if directory.nlink == 0 or directory.children is None:
                return []
            return [(b".", directory.number), (b"..", directory.parent), *directory.children.items()]

    def rewind(self, call: Call, handle: DirectoryHandle) -> Listing:
        """What is read from offset 0 on: a fresh listing."""
        handle.listing = self._fresh(call, handle)
        return handle.listing

    def resume(self, call: Call, handle: DirectoryHandle) -> Listing:
        """What is read on: the listing that was begun."""
        return handle.listing if handle.listing is not None else self.rewind(call, handle)

    def sync(self, call: Call, number: int) -> None:
        """fsync(2) of a directory."""
