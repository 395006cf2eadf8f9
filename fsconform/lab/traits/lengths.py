"""Lengths that other clients learn late, and data that vanish some time after their last name."""

from __future__ import annotations

import errno
import os
import time

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import AttributeChange, Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab


def published_lengths(lab: Lab, knobs: Knobs) -> None:
    """The length is published at close and fsync, at truncation, when the writing client looks, and periodically;
    fdatasync sends the data only.

    Sources: 3FS src/fuse/FuseOps.cc flushAndSync, hf3fs_fsync, hf3fs_lookup (sync_on_stat); FuseConfig.h
    periodic_sync: 30 s, times a random factor of 0.7 to 1.3.
    """
    _LengthPublisher(lab, knobs)


class _LengthPublisher:
    def __init__(self, lab: Lab, knobs: Knobs) -> None:
        self.lab, self.knobs = lab, knobs
        self.standard = operations = lab.operations
        self.dirty: set[Inode] = set()
        self.due = time.monotonic() + self._interval()
        self.inner_write, self.inner_read, self.inner_set = operations.write, operations.read, operations.set_attributes
        self.inner_flush, self.inner_sync, self.inner_release = operations.flush, operations.sync, operations.release
        self.inner_open, self.inner_size = operations.open, operations.size
        operations.write, operations.read, operations.set_attributes = self.write, self.read, self.set_attributes
        operations.flush, operations.sync, operations.release = self.flush, self.sync, self.release
        operations.open, operations.size = self.open, self.size
        lab.periodic.append(self.publish_periodically)

    def _interval(self) -> float:
        return self.knobs.sync * self.knobs.chance.uniform(0.7, 1.3)

    def publish(self, inode: Inode) -> None:
        """Everybody may know its length now."""
        inode.published = inode.flushed = len(inode.data)
        self.dirty.discard(inode)

    def publish_periodically(self, now: float) -> None:
        """The sync that goes on by itself."""
        if now < self.due:
            return
        self.due = now + self._interval()
        with self.lab.store.lock:
            for inode in list(self.dirty):
                self.publish(inode)

    def size(self, call: Call, inode: Inode) -> int:
        """The writing client sees its own length, and a look of it publishes."""
        if call.client.number in inode.writers:
            with self.lab.store.lock:
                self.publish(inode)
        return inode.published if inode.children is None and not inode.target else self.inner_size(call, inode)

    def open(self, call: Call, number: int, flags: int) -> Handle:
        handle = self.inner_open(call, number, flags)
        if flags & os.O_TRUNC:
            self.publish(handle.inode)
        return handle

    def write(self, call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        written = self.inner_write(call, handle, offset, data, flags)
        self.dirty.add(handle.inode)
        return written

    def read(self, call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        """Other clients do not reach what still lies in the writer's buffer."""
        inode = handle.inode
        if call.client.number not in inode.writers:
            size = max(0, min(size, inode.flushed - offset))
        return self.inner_read(call, handle, offset, size, flags)

    def flush(self, call: Call, handle: Handle, owner: int) -> None:
        self.inner_flush(call, handle, owner)
        if handle.writes:
            with self.lab.store.lock:
                self.publish(handle.inode)

    def sync(self, call: Call, handle: Handle, data_only: bool) -> None:
        self.inner_sync(call, handle, data_only)
        with self.lab.store.lock:
            if data_only:
                handle.inode.flushed = len(handle.inode.data)
            else:
                self.publish(handle.inode)

    def release(self, call: Call, handle: Handle, owner: int, drop_flock: bool) -> None:
        if handle.writes:
            with self.lab.store.lock:
                self.publish(handle.inode)
        self.inner_release(call, handle, owner, drop_flock)

    def set_attributes(self, call: Call, number: int, change: AttributeChange) -> Inode:
        inode = self.inner_set(call, number, change)
        if change.size is not None:
            with self.lab.store.lock:
                self.publish(inode)
        return inode


def collected_data(lab: Lab, knobs: Knobs) -> None:
    """Unlinked data stay readable for `collect` seconds, whoever has them open; after that reads find the end of the
    file at once, without an error. Attributes stay, else Linux would fail the read when it refreshes them.

    Sources: 3FS src/meta/base/Config.h gc_file_delay (5 min); src/fuse/PioV.cc: a missing chunk reads as nothing;
    src/meta/store/ops/Open.cc: an open for writing asks by inode id and is told ENOENT.
    """
    store, open_file = lab.store, lab.operations.open

    def collect(now: float) -> None:
        with store.lock:
            for number, since in store.orphans.items():
                inode = store.inodes.get(number)
                if inode is not None and since + knobs.collect < now:
                    store.resize(inode, 0)
                    inode.flushed = 0

    def open_unlinked(call: Call, number: int, flags: int) -> Handle:
        inode = store.inodes.get(number)
        if flags & os.O_ACCMODE and (inode is None or inode.nlink == 0):
            raise RefusalError(errno.ENOENT)
        return open_file(call, number, flags)

    lab.periodic.append(collect)
    lab.operations.open = open_unlinked
    store.orphan_grace_s = max(store.orphan_grace_s, knobs.collect)
