"""Mutants of removal: names that come back under another name, directories that are refused, or removed with all."""

from __future__ import annotations

import errno

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Key, Memory
from fsconform.lab.mutants.registry import BY_CALLS, mutant


@mutant(
    "silly-rename",
    "a file that its own mount has open is not removed but renamed to .nfs..., until it is closed",
    "VertebrateResequencing/muxfys issue 1; astral-sh/uv issue 12036; linux-nfs.org FAQ D2",
    (),
    shown_by=BY_CALLS,
)
def silly_rename(lab: Lab, knobs: Knobs) -> None:
    """Removing the new name is refused with EBUSY; the directory cannot be removed meanwhile."""
    operations, store = lab.operations, lab.store
    unlink, rename, release = operations.unlink, operations.rename, operations.release
    silly: dict[Key, Inode] = {}

    def is_open(inode: Inode, client: int) -> bool:
        return any(handle.inode is inode and handle.client == client for handle in store.handles.values())

    def hide(call: Call, parent: int, name: bytes) -> None:
        with store.lock:
            if (parent, name) in silly:
                raise RefusalError(errno.EBUSY)
            inode = store.inodes.get(store.directory(parent).get(name, -1))
            if inode is None or inode.nlink > 1 or not is_open(inode, call.client.number) or not knobs.strikes(call):
                unlink(call, parent, name)
                return
            new_name = b".nfs%024x" % inode.number
            rename(call, parent, name, parent, new_name, 0)
            silly[parent, new_name] = inode

    def clean_up(call: Call, handle: Handle, owner: int, drop_flock: bool) -> None:
        release(call, handle, owner, drop_flock)
        with store.lock:
            for key in [key for key, inode in silly.items() if inode is handle.inode and inode.opens == 0]:
                del silly[key]
                unlink(call, *key)

    operations.unlink, operations.release = hide, clean_up


@mutant(
    "rmdir-full",
    "rmdir of a directory that has names in it succeeds, and they are gone",
    "object stores behind FUSE that have no directories; POSIX rmdir() ENOTEMPTY",
    (),
    shown_by=BY_CALLS,
)
def rmdir_full(lab: Lab, knobs: Knobs) -> None:
    """Files in it; directories in it are left alone."""
    remove_directory, unlink, store = lab.operations.remove_directory, lab.operations.unlink, lab.store

    def remove_all(call: Call, parent: int, name: bytes) -> None:
        with store.lock:
            inode = store.inodes.get(store.directory(parent).get(name, -1))
            names = dict(inode.children or {}) if inode is not None else {}
            plain = not any(store.inode(number).is_directory for number in names.values())
            if inode is not None and plain and knobs.strikes(call):
                for inner in names:
                    unlink(call, inode.number, inner)
            remove_directory(call, parent, name)

    lab.operations.remove_directory = remove_all


@mutant(
    "enotempty-empty",
    "for `ttl` after the last name in a directory was removed, rmdir says ENOTEMPTY",
    "astral-sh/uv issue 12036; tavianator/bfs issue 67: rmdir right after everything was removed",
    (),
    shown_by=BY_CALLS,
)
def enotempty_empty(lab: Lab, knobs: Knobs) -> None:
    """A directory that was never used can be removed."""
    remove_directory, unlink, store = lab.operations.remove_directory, lab.operations.unlink, lab.store
    emptied: Memory[int, bool] = Memory(lab)

    def note(call: Call, parent: int, name: bytes) -> None:
        unlink(call, parent, name)
        if knobs.strikes(call):
            emptied.keep(parent, True, knobs.ttl)

    def refuse(call: Call, parent: int, name: bytes) -> None:
        if emptied.get(store.directory(parent).get(name, -1)):
            raise RefusalError(errno.ENOTEMPTY)
        remove_directory(call, parent, name)

    lab.operations.unlink, lab.operations.remove_directory = note, refuse
