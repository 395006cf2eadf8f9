"""The one truth of a lab: inodes, names, handles, space and time. Policy lies in `operations` and in traits."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Callable

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import DirectoryHandle, Handle, Inode
from fsconform.lab.protocol import ROOT

ORPHAN_GRACE_S = 30.0
"""How long an unlinked inode that nobody has open stays usable for a client that has just looked it up."""


class Store:
    """All state that the clients share. Every method expects `lock` to be held."""

    def __init__(self, capacity: int) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.capacity, self.used = capacity, 0
        self.last_time = 0
        self.granularity = 1
        """Of all times, ns."""
        self.stamp: Callable[[int], int] = lambda now: now
        """What the server's clock makes of the time, ns."""
        self.directory_times = True
        """Whether a change of its names touches a directory's times."""
        self.orphan_grace_s = ORPHAN_GRACE_S
        self.orphans: dict[int, float] = {}
        self.handles: dict[int, Handle] = {}
        self.directories: dict[int, DirectoryHandle] = {}
        self.next_number, self.next_handle = ROOT + 1, 1
        root = Inode(ROOT, stat.S_IFDIR | 0o755, os.getuid(), os.getgid(), self.now())
        self.inodes: dict[int, Inode] = {ROOT: root}

    def now(self) -> int:
        """Time of the server, ns: strictly increasing, so that no two changes of a file carry the same mtime
        (a kernel that caches pages learns of a change by it); rounded down where times are coarse."""
        self.last_time = max(time.time_ns(), self.last_time + 1)
        return self.stamp(self.last_time - self.last_time % self.granularity)

    def inode(self, number: int) -> Inode:
        """By node id. Raises ESTALE where it is gone."""
        try:
            return self.inodes[number]
        except KeyError:
            raise RefusalError(errno.ESTALE) from None

    def directory(self, number: int) -> dict[bytes, int]:
        """The names in a directory. Raises ENOTDIR."""
        children = self.inode(number).children
        if children is None:
            raise RefusalError(errno.ENOTDIR)
        return children

    def parent_for_change(self, number: int) -> Inode:
        """A directory in which a name is to be made or removed. Raises ENOENT where it was removed itself."""
        parent = self.inode(number)
        if parent.children is None:
            raise RefusalError(errno.ENOTDIR)
        if parent.nlink == 0:
            raise RefusalError(errno.ENOENT)
        if parent.virtual:
            raise RefusalError(errno.EPERM)
        return parent

    def new_inode(self, call: Call, mode: int) -> Inode:
        """An inode without a name."""
        inode = Inode(self.next_number, mode, call.uid, call.gid, self.now())
        self.next_number += 1
        self.inodes[inode.number] = inode
        return inode

    def add_name(self, parent: Inode, name: bytes, inode: Inode) -> None:
        """Bind a name; the caller has made sure that it is free."""
        assert parent.children is not None
        parent.children[name] = inode.number
        if inode.children is not None:
            inode.parent = parent.number
            parent.nlink += 1
        self.touch_directory(parent)

    def remove_name(self, parent: Inode, name: bytes) -> Inode:
        """Unbind a name; the inode keeps its link count."""
        assert parent.children is not None
        inode = self.inode(parent.children.pop(name))
        if inode.children is not None:
            parent.nlink -= 1
        self.touch_directory(parent)
        return inode

    def touch_directory(self, parent: Inode) -> None:
        """A name in it changed."""
        if self.directory_times:
            parent.mtime = parent.ctime = self.now()

    def drop_link(self, inode: Inode) -> None:
        """One name less."""
        inode.nlink = 0 if inode.children is not None else inode.nlink - 1
        inode.ctime = self.now()
        if inode.nlink <= 0:
            self.orphans[inode.number] = time.monotonic()
            self.settle(inode)

    def settle(self, inode: Inode) -> None:
        """Free an inode that has neither names nor references."""
        if inode.nlink <= 0 and inode.lookups <= 0 and inode.opens <= 0:
            self.free(inode)

    def free(self, inode: Inode) -> None:
        """Forget an inode and its data."""
        self.orphans.pop(inode.number, None)
        if self.inodes.pop(inode.number, None) is not None:
            self.used -= len(inode.data)

    def forget(self, number: int, count: int) -> None:
        """A client's kernel gives `count` references back."""
        inode = self.inodes.get(number)
        if inode is not None:
            inode.lookups -= count
            self.settle(inode)

    def collect_orphans(self) -> None:
        """Free unlinked inodes that no client has open, after a grace for those just looked up."""
        before = time.monotonic() - self.orphan_grace_s
        for number in [number for number, since in self.orphans.items() if since < before]:
            inode = self.inodes.get(number)
            if inode is not None and inode.opens <= 0 and not inode.linkable:
                self.free(inode)

    def open_handle(self, call: Call, inode: Inode, flags: int, name: bytes = b"") -> Handle:
        """A new handle on a file."""
        handle = Handle(self.next_handle, inode, call.client.number, flags, name)
        self.next_handle += 1
        self.handles[handle.number] = handle
        inode.opens += 1
        if handle.writes:
            inode.writers[handle.client] = inode.writers.get(handle.client, 0) + 1
        return handle

    def close_handle(self, handle: Handle) -> None:
        """The last reference to an open file is gone."""
        inode = handle.inode
        self.handles.pop(handle.number, None)
        inode.opens -= 1
        if handle.writes:
            left = inode.writers[handle.client] - 1
            if left:
                inode.writers[handle.client] = left
            else:
                del inode.writers[handle.client]
        self.settle(inode)

    def resize(self, inode: Inode, size: int) -> None:
        """Cut or extend with zeros. Raises ENOSPC."""
        growth = size - len(inode.data)
        if growth > 0:
            self.reserve(growth)
            inode.data.extend(bytes(growth))
        elif growth < 0:
            del inode.data[size:]
            self.used += growth

    def reserve(self, growth: int) -> None:
        """Account for bytes to come. Raises ENOSPC."""
        if self.used + growth > self.capacity:
            raise RefusalError(errno.ENOSPC)
        self.used += growth
