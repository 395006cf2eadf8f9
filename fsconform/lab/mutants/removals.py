"""Mutants of removal: names that stay for a while, or under another name; directories refused, or removed with all."""

from __future__ import annotations

import errno
import threading
from contextlib import suppress

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


@mutant(
    "unlink-late",
    "unlink returns, and the name stays for `window`",
    "astral-sh/uv issue 12036: listed, and in the way of rmdir, after unlink had returned",
    ("visibility.unlink", "exclusive.stale-eexist"),
    also={"exclusive.winner": "contenders for a name that is being removed have no winner",
          "exclusive.loser-sees": "what they were told exists goes away"},
    window=0.05,
)  # fmt: skip
def unlink_late(lab: Lab, knobs: Knobs) -> None:
    """An rmdir waits for what is still to be removed."""
    unlink, remove_directory = lab.operations.unlink, lab.operations.remove_directory
    pending: dict[int, set[bytes]] = {}

    def perform(call: Call, parent: int, name: bytes) -> None:
        with lab.store.lock:
            waiting = pending.get(parent, set())
            if name in waiting:
                waiting.remove(name)
                with suppress(RefusalError):
                    unlink(call, parent, name)

    def later(call: Call, parent: int, name: bytes) -> None:
        with lab.store.lock:
            if name not in lab.store.directory(parent) or name in pending.get(parent, set()):
                raise RefusalError(errno.ENOENT)
            if lab.store.inode(lab.store.directory(parent)[name]).is_directory or not knobs.strikes(call):
                unlink(call, parent, name)
                return
            pending.setdefault(parent, set()).add(name)
        timer = threading.Timer(knobs.window, perform, (call, parent, name))
        timer.daemon = True
        timer.start()

    def settle(call: Call, parent: int, name: bytes) -> None:
        number = lab.store.directory(parent).get(name, -1)
        for waiting in list(pending.get(number, ())):
            perform(call, number, waiting)
        pending.pop(number, None)
        remove_directory(call, parent, name)

    lab.operations.unlink, lab.operations.remove_directory = later, settle
