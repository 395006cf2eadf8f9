"""Mutants of the length that other mounts are told."""

from __future__ import annotations

import time

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import mutant


@mutant(
    "stale-length",
    "a mount that was told a file's length is told the same for `ttl` while another one appends to it",
    "rclone cmd/mountlib/mount/mount.md; 3FS src/fuse/FuseOps.cc hf3fs_open: an open does not ask for the size",
    ("size.grow",),
)
def stale_length(lab: Lab, knobs: Knobs) -> None:
    """Only growth by others; reads reach the new bytes."""
    size, write, allocate = lab.operations.size, lab.operations.write, lab.operations.allocate
    told: Memory[tuple[int, int], int] = Memory(lab)
    writer: dict[int, int] = {}

    def note_writer(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        writer[handle.inode.number] = call.client.number
        return write(call, handle, offset, data, flags)

    def note_allocator(call: Call, handle: Handle, offset: int, length: int, mode: int) -> None:
        writer[handle.inode.number] = call.client.number
        allocate(call, handle, offset, length, mode)

    def old_size(call: Call, inode: Inode) -> int:
        actual, key = size(call, inode), (call.client.number, inode.number)
        if inode.is_directory or writer.get(inode.number) == call.client.number:
            return actual
        known = told.get(key)
        if known is not None and known < actual and knobs.strikes(call, key):
            return known
        if known != actual:
            told.keep(key, actual, knobs.ttl)
        return actual

    lab.operations.size, lab.operations.write, lab.operations.allocate = old_size, note_writer, note_allocator


class _Published:
    """The lengths that other mounts are told of files that grow: by inode, until they are published."""

    def __init__(self, lab: Lab, knobs: Knobs) -> None:
        self._size, self._write = lab.operations.size, lab.operations.write
        self._store, self._knobs = lab.store, knobs
        self._until: dict[int, float] = {}
        self.old: dict[int, tuple[int, int]] = {}
        """Inode -> length before it grew, and the mount that writes."""
        lab.operations.size, lab.operations.write = self.told, self.grow

    def grow(self, call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        """A write; what was published before it stays published."""
        inode = handle.inode
        with self._store.lock:
            if self._knobs.strikes(call, inode.number):
                self.old.setdefault(inode.number, (len(inode.data), call.client.number))
            return self._write(call, handle, offset, data, flags)

    def told(self, call: Call, inode: Inode) -> int:
        """The writer's own mount is told the truth."""
        actual = self._size(call, inode)
        with self._store.lock:
            if self._until.get(inode.number, float("inf")) < time.monotonic():
                self.old.pop(inode.number, None)
                del self._until[inode.number]
            length, writer = self.old.get(inode.number, (actual, -1))
        return actual if writer == call.client.number else min(length, actual)

    def publish(self, inode: Inode, delay_s: float = 0.0) -> None:
        """Everybody is told, after a while."""
        with self._store.lock:
            if inode.number in self.old:
                self._until[inode.number] = time.monotonic() + delay_s


@mutant(
    "length-at-close",
    "other mounts are told a new length only when the writer closes the file: fsync publishes nothing",
    "s3fs-fuse/s3fs-fuse issue 320; littlefs-project/littlefs-fuse issue 4: the old size until close",
    ("size.grow",),
)
def length_at_close(lab: Lab, knobs: Knobs) -> None:
    """The writer's own mount is told the truth."""
    published, flush = _Published(lab, knobs), lab.operations.flush

    def publish(call: Call, handle: Handle, owner: int) -> None:
        flush(call, handle, owner)
        if handle.writes:
            published.publish(handle.inode)

    lab.operations.flush = publish


@mutant(
    "length-after-close",
    "other mounts are told the new length of a file that grew only `ttl` after its close",
    "mar-file-system/marfs issue 140: 0 or a part for seconds after cp had finished",
    ("size.grow",),
)
def length_after_close(lab: Lab, knobs: Knobs) -> None:
    """The first close of a file publishes at once, so that files made and renamed are whole."""
    published, flush = _Published(lab, knobs), lab.operations.flush

    def publish(call: Call, handle: Handle, owner: int) -> None:
        flush(call, handle, owner)
        if handle.writes:
            length, _ = published.old.get(handle.inode.number, (0, 0))
            published.publish(handle.inode, knobs.ttl if length else 0.0)

    lab.operations.flush = publish
