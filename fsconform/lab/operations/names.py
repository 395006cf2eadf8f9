"""Operations on names, except rename."""

from __future__ import annotations

import errno
import os
import stat

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.store import Store

NAME_MAX = 255


class NameOperations:
    """Look-up, creation and removal, each one step under the store's lock."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def lookup(self, call: Call, parent: int, name: bytes) -> Inode:
        """Raises ENOENT, ESTALE, ENAMETOOLONG."""
        if len(name) > NAME_MAX:
            raise RefusalError(errno.ENAMETOOLONG)
        store = self.store
        with store.lock:
            number = store.directory(parent).get(name)
            if number is None:
                raise RefusalError(errno.ENOENT)
            inode = store.inode(number)
            inode.lookups += 1
            return inode

    def _free_name(self, parent: int, name: bytes) -> Inode:
        """The directory in which `name` may be made. Raises EEXIST."""
        if len(name) > NAME_MAX:
            raise RefusalError(errno.ENAMETOOLONG)
        directory = self.store.parent_for_change(parent)
        assert directory.children is not None
        if name in directory.children:
            raise RefusalError(errno.EEXIST)
        return directory

    def _make(self, call: Call, parent: int, name: bytes, mode: int) -> Inode:
        directory = self._free_name(parent, name)
        inode = self.store.new_inode(call, mode)
        if directory.mode & stat.S_ISGID:
            inode.gid = directory.gid
            inode.mode |= stat.S_ISGID if stat.S_ISDIR(mode) else 0
        self.store.add_name(directory, name, inode)
        inode.lookups += 1
        return inode

    def create(self, call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        """open(O_CREAT) of a name that the client did not see. Raises EEXIST only for O_EXCL."""
        store = self.store
        with store.lock:
            number = store.parent_for_change(parent).children.get(name)  # type: ignore[union-attr]
            if number is None:
                inode = self._make(call, parent, name, stat.S_IFREG | mode & 0o7777)
            elif flags & os.O_EXCL:
                raise RefusalError(errno.EEXIST)
            else:
                inode = store.inode(number)
                if inode.is_directory:
                    raise RefusalError(errno.EISDIR)
                if stat.S_ISLNK(inode.mode):
                    raise RefusalError(errno.ESTALE)
                if flags & os.O_TRUNC:
                    store.resize(inode, 0)
                inode.lookups += 1
            return inode, store.open_handle(call, inode, flags, name)

    def open_unnamed(self, call: Call, parent: int, flags: int, mode: int) -> tuple[Inode, Handle]:
        """open(O_TMPFILE)."""
        store = self.store
        with store.lock:
            store.parent_for_change(parent)
            inode = store.new_inode(call, stat.S_IFREG | mode & 0o7777)
            inode.nlink, inode.linkable, inode.lookups = 0, not flags & os.O_EXCL, 1
            return inode, store.open_handle(call, inode, flags)

    def make_node(self, call: Call, parent: int, name: bytes, mode: int, device: int) -> Inode:
        """mknod(2)."""
        with self.store.lock:
            inode = self._make(call, parent, name, mode)
            inode.rdev = device
            return inode

    def make_directory(self, call: Call, parent: int, name: bytes, mode: int) -> Inode:
        """mkdir(2)."""
        with self.store.lock:
            return self._make(call, parent, name, stat.S_IFDIR | mode & 0o7777)

    def make_symlink(self, call: Call, parent: int, name: bytes, target: bytes) -> Inode:
        """symlink(2)."""
        with self.store.lock:
            inode = self._make(call, parent, name, stat.S_IFLNK | 0o777)
            inode.target = target
            return inode

    def link(self, call: Call, number: int, parent: int, name: bytes) -> Inode:
        """link(2)."""
        with self.store.lock:
            inode = self.store.inode(number)
            directory = self._free_name(parent, name)
            if inode.is_directory or inode.virtual:
                raise RefusalError(errno.EPERM)
            if inode.nlink == 0 and not inode.linkable:
                raise RefusalError(errno.ENOENT)
            inode.nlink, inode.linkable = inode.nlink + 1, False
            inode.ctime = self.store.now()
            self.store.orphans.pop(number, None)
            self.store.add_name(directory, name, inode)
            inode.lookups += 1
            return inode

    def unlink(self, call: Call, parent: int, name: bytes) -> None:
        """unlink(2)."""
        self._remove(parent, name, directory=False)

    def remove_directory(self, call: Call, parent: int, name: bytes) -> None:
        """rmdir(2)."""
        self._remove(parent, name, directory=True)

    def _remove(self, parent: int, name: bytes, directory: bool) -> None:
        store = self.store
        with store.lock:
            holder = store.parent_for_change(parent)
            assert holder.children is not None
            if name not in holder.children:
                raise RefusalError(errno.ENOENT)
            inode = store.inode(holder.children[name])
            if inode.virtual:
                raise RefusalError(errno.EPERM)
            if inode.is_directory != directory:
                raise RefusalError(errno.ENOTDIR if directory else errno.EISDIR)
            if inode.children:
                raise RefusalError(errno.ENOTEMPTY)
            store.remove_name(holder, name)
            store.drop_link(inode)
