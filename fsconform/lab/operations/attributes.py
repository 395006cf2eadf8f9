"""Attributes, extended attributes, symlink texts and space."""

from __future__ import annotations

import errno
import stat

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import AttributeChange, Inode, SpaceReport
from fsconform.lab.store import Store

XATTR_CREATE, XATTR_REPLACE = 1, 2


class AttributeOperations:
    """What is known of an inode beside its data."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def size(self, call: Call, inode: Inode) -> int:
        """The length, bytes, the same for every client."""
        return len(inode.data) or len(inode.target)

    def links(self, call: Call, inode: Inode) -> int:
        """st_nlink, the same for every client."""
        return inode.nlink

    def get(self, call: Call, number: int) -> Inode:
        """The inode whose attributes are asked. Hands out no reference."""
        return self.store.inode(number)

    def set(self, call: Call, number: int, change: AttributeChange) -> Inode:
        """chmod, chown, truncate, utimens. Hands out no reference."""
        store = self.store
        with store.lock:
            inode = store.inode(number)
            if inode.virtual:
                raise RefusalError(errno.EPERM)
            now = store.now()
            if change.size is not None:
                store.resize(inode, change.size)
                inode.mtime = now
            if change.mode is not None:
                inode.mode = stat.S_IFMT(inode.mode) | change.mode & 0o7777
            inode.uid = inode.uid if change.uid is None else change.uid
            inode.gid = inode.gid if change.gid is None else change.gid
            if change.atime is not None:
                inode.atime = now if change.atime_now else change.atime
            if change.mtime is not None:
                inode.mtime = now if change.mtime_now else change.mtime
            inode.ctime = now
            return inode

    def read_link(self, call: Call, number: int) -> bytes:
        """The text of a symlink."""
        inode = self.store.inode(number)
        if not stat.S_ISLNK(inode.mode):
            raise RefusalError(errno.EINVAL)
        return inode.target

    def set_xattr(self, call: Call, number: int, name: bytes, value: bytes, flags: int) -> None:
        """setxattr(2) of any namespace that the kernel lets through."""
        with self.store.lock:
            inode = self.store.inode(number)
            if flags & XATTR_CREATE and name in inode.xattrs:
                raise RefusalError(errno.EEXIST)
            if flags & XATTR_REPLACE and name not in inode.xattrs:
                raise RefusalError(errno.ENODATA)
            inode.xattrs[name] = value
            inode.ctime = self.store.now()

    def get_xattr(self, call: Call, number: int, name: bytes) -> bytes:
        """Raises ENODATA."""
        value = self.store.inode(number).xattrs.get(name)
        if value is None:
            raise RefusalError(errno.ENODATA)
        return value

    def list_xattrs(self, call: Call, number: int) -> list[bytes]:
        """The names."""
        with self.store.lock:
            return list(self.store.inode(number).xattrs)

    def remove_xattr(self, call: Call, number: int, name: bytes) -> None:
        """Raises ENODATA."""
        with self.store.lock:
            if self.store.inode(number).xattrs.pop(name, None) is None:
                raise RefusalError(errno.ENODATA)

    def space(self, call: Call) -> SpaceReport:
        """statfs(2)."""
        store = self.store
        return SpaceReport(store.capacity // 4096, max(0, store.capacity - store.used) // 4096)
