"""rename(2) and renameat2(2)."""

from __future__ import annotations

import errno

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Inode
from fsconform.lab.store import Store

NOREPLACE, EXCHANGE = 1, 2


class RenameOperations:
    """One step under the store's lock: every look-up finds the state before or after it."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def rename(self, call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        """Raises EINVAL for RENAME_WHITEOUT and contradictory flags, else what rename(2) lists."""
        if flags not in (0, NOREPLACE, EXCHANGE):
            raise RefusalError(errno.EINVAL)
        store = self.store
        with store.lock:
            source, target = store.parent_for_change(parent), store.parent_for_change(new_parent)
            assert source.children is not None and target.children is not None
            if name not in source.children:
                raise RefusalError(errno.ENOENT)
            inode = store.inode(source.children[name])
            number = target.children.get(new_name)
            victim = None if number is None else store.inode(number)
            if inode.virtual or (victim is not None and victim.virtual):
                raise RefusalError(errno.EPERM)
            self._refuse_loop(inode, target)
            if flags & EXCHANGE:
                self._exchange(source, name, inode, target, new_name, victim)
                return
            if victim is not None:
                if flags & NOREPLACE:
                    raise RefusalError(errno.EEXIST)
                if victim is inode:
                    return
                self._refuse_mismatch(inode, victim)
            self._move(source, name, target, new_name, victim)
            inode.ctime = store.now()

    def _move(self, source: Inode, name: bytes, target: Inode, new_name: bytes, victim: Inode | None) -> None:
        store = self.store
        if victim is not None:
            store.remove_name(target, new_name)
        inode = store.remove_name(source, name)
        store.add_name(target, new_name, inode)
        if victim is not None:
            store.drop_link(victim)

    def _exchange(
        self, source: Inode, name: bytes, inode: Inode, target: Inode, new_name: bytes, other: Inode | None
    ) -> None:
        if other is None:
            raise RefusalError(errno.ENOENT)
        if other is inode:
            return
        self._refuse_loop(other, source)
        store = self.store
        store.remove_name(source, name)
        store.remove_name(target, new_name)
        store.add_name(source, name, other)
        store.add_name(target, new_name, inode)
        inode.ctime = other.ctime = store.now()

    def _refuse_loop(self, inode: Inode, target: Inode) -> None:
        """A directory cannot move below itself: two clients may try what neither kernel can see."""
        if not inode.is_directory:
            return
        ancestor = target
        while ancestor.number != 1:
            if ancestor is inode:
                raise RefusalError(errno.EINVAL)
            ancestor = self.store.inode(ancestor.parent)

    @staticmethod
    def _refuse_mismatch(inode: Inode, victim: Inode) -> None:
        if victim.is_directory and not inode.is_directory:
            raise RefusalError(errno.EISDIR)
        if inode.is_directory and not victim.is_directory:
            raise RefusalError(errno.ENOTDIR)
        if victim.children:
            raise RefusalError(errno.ENOTEMPTY)
