"""Replies as bytes."""

from __future__ import annotations

import stat

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.model import DataPath, Lab
from fsconform.lab.protocol import (
    ATTR,
    ATTR_VALID,
    ENTRY,
    FOPEN_DIRECT_IO,
    OPEN_OUT,
    split_seconds,
)

_NS = 10**9
_O_DIRECT = 0o40000


class Encoder:
    """Turns inodes and handles into what the kernel expects, with the lab's timeouts."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        timeouts = lab.timeouts
        self.times = (*split_seconds(timeouts.entry), *split_seconds(timeouts.attr))
        link = split_seconds(timeouts.symlink)
        self.link_times = (*link, *link)
        self.direct = 0
        """Flags of every open reply; set once INIT has told what the kernel can do."""

    def attributes(self, call: Call, inode: Inode) -> bytes:
        """struct fuse_attr."""
        operations = self.lab.operations
        size = operations.size(call, inode)
        return ATTR.pack(
            inode.number, size, (size + 511) >> 9, inode.atime // _NS, inode.mtime // _NS, inode.ctime // _NS,
            inode.atime % _NS, inode.mtime % _NS, inode.ctime % _NS, inode.mode, operations.links(call, inode),
            inode.uid, inode.gid, inode.rdev, 4096, 0,
        )  # fmt: skip

    def entry(self, call: Call, inode: Inode) -> bytes:
        """struct fuse_entry_out; the reference that goes with it has been counted by the operation."""
        entry_s, entry_ns, attr_s, attr_ns = self.link_times if stat.S_ISLNK(inode.mode) else self.times
        return ENTRY.pack(inode.number, 0, entry_s, attr_s, entry_ns, attr_ns) + self.attributes(call, inode)

    def negative(self) -> bytes:
        """An entry that says: no such name, believe it for the negative timeout."""
        seconds, ns = split_seconds(self.lab.timeouts.negative)
        return ENTRY.pack(0, 0, seconds, 0, ns, 0) + bytes(ATTR.size)

    def attributes_valid(self, call: Call, inode: Inode) -> bytes:
        """struct fuse_attr_out."""
        return ATTR_VALID.pack(self.times[2], self.times[3], 0) + self.attributes(call, inode)

    def opened(self, handle: Handle) -> bytes:
        """struct fuse_open_out."""
        direct = self.direct or (FOPEN_DIRECT_IO if handle.flags & _O_DIRECT else 0)
        return OPEN_OUT.pack(handle.number, direct, 0)

    def settle_data_path(self, can_map: bool) -> bool:
        """Called once INIT has told whether the kernel maps files that bypass the page cache (Linux 6.6).

        Returns whether such mappings are to be refused.
        """
        path = self.lab.session.data_path
        if path is DataPath.UNMAPPABLE or (path is DataPath.DIRECT and can_map):
            self.direct = FOPEN_DIRECT_IO
        return path is DataPath.UNMAPPABLE
