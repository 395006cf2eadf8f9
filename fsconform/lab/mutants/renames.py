"""Mutants of rename: names that are missing for a moment or for good, renames that are refused."""

from __future__ import annotations

import errno
import time
from typing import Any

from fsconform.lab.calls import Call, Client, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Curtain, Key, Memory
from fsconform.lab.mutants.registry import BY_CALLS, mutant
from fsconform.lab.operations.renames import EXCHANGE
from fsconform.lab.store import Store

_FIRST_VERSION = "the first version of the name that is then replaced is not there for that long"
_NEITHER = "once the old name is gone, neither is found"


def _replaces(store: Store, key: Key, new_key: Key) -> bool:
    """Whether a rename would replace a name; False where there is nothing to rename."""
    with store.lock:
        return new_key[1] in store.directory(new_key[0]) and key[1] in store.directory(key[0])


def _moves(store: Store, key: Key, new_key: Key) -> bool:
    """Whether a rename goes to a free name; False where there is nothing to rename."""
    with store.lock:
        return new_key[1] not in store.directory(new_key[0]) and key[1] in store.directory(key[0])


@mutant(
    "rename-gap",
    "while a rename replaces a file, its name is missing for a moment",
    "libfuse issue 637; sshfs workaround=rename: the target is removed first",
    ("atomic.presence",),
    racy=True,
)
def rename_gap(lab: Lab, knobs: Knobs) -> None:
    """The old name stays until the new one is there."""
    curtain, rename = Curtain(lab), lab.operations.rename

    def with_gap(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        key = (new_parent, new_name)
        if not flags & EXCHANGE and _replaces(lab.store, (parent, name), key) and knobs.strikes(call):
            curtain.hide(key)
            call.client.pause(knobs.window)
            curtain.show(key)
        rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = with_gap


@mutant(
    "rename-neither",
    "while a file is renamed to a free name, for a moment neither name is there",
    "POSIX rename() RATIONALE: the file is never without a name",
    ("atomic.order",),
    racy=True,
)
def rename_neither(lab: Lab, knobs: Knobs) -> None:
    """Renames over an existing name are left alone."""
    curtain, rename = Curtain(lab), lab.operations.rename

    def in_two_steps(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        struck = _moves(lab.store, (parent, name), (new_parent, new_name)) and knobs.strikes(call)
        if struck:
            curtain.hide((parent, name))
            call.client.pause(knobs.window)
        try:
            rename(call, parent, name, new_parent, new_name, flags)
        finally:
            if struck:
                curtain.show((parent, name))

    lab.operations.rename = in_two_steps


@mutant(
    "rename-async",
    "a rename to a free name returns, and for `ttl` look-ups do not find the new name",
    "chainguard-dev/apko pull request 1387: a file on a bucket mount is not readable right after its rename",
    ("visibility.create", "atomic.order"),
    also={"atomic.presence": _FIRST_VERSION},
    ttl=0.05,
)
def rename_async(lab: Lab, knobs: Knobs) -> None:
    """On every mount, the renaming one too. RENAME_NOREPLACE is left alone."""
    curtain, rename = Curtain(lab), lab.operations.rename

    def return_early(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        moves = not flags and _moves(lab.store, (parent, name), (new_parent, new_name))
        with lab.store.lock:
            rename(call, parent, name, new_parent, new_name, flags)
            if moves and knobs.strikes(call):
                curtain.hide((new_parent, new_name), knobs.ttl)

    lab.operations.rename = return_early


@mutant(
    "rename-lost",
    "a rename to a free name succeeds and removes the old name, and the new one never appears",
    "jingkaihe/matchlock issue 81; LMCache pull request 3120: stored, and never there",
    ("visibility.create", "atomic.order"),
    also={"atomic.presence": "there is no first version of the name that is then replaced"},
)
def rename_lost(lab: Lab, knobs: Knobs) -> None:
    """RENAME_NOREPLACE and directories are left alone."""
    rename, unlink, store = lab.operations.rename, lab.operations.unlink, lab.store

    def lose(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        moves = not flags and _moves(store, (parent, name), (new_parent, new_name))
        if moves and not store.inode(store.directory(parent)[name]).is_directory and knobs.strikes(call):
            unlink(call, parent, name)
        else:
            rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = lose


@mutant(
    "rename-over-refused",
    "a rename over a file that this mount made less than 10 s ago is refused with EEXIST",
    "cubefs/cubefs issue 1578: rename over a name made just before; passes after a pause of 10 s",
    ("visibility.replace",),
    ttl=10.0,
)
def rename_over_refused(lab: Lab, knobs: Knobs) -> None:
    """Files made by a create; what was itself renamed can be replaced."""
    rename, create = lab.operations.rename, lab.operations.create
    young: Memory[int, Client] = Memory(lab)

    def note(call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        made = create(call, parent, name, flags, mode)
        young.keep(made[0].number, call.client, knobs.ttl)
        return made

    def refuse(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        target = lab.store.directory(new_parent).get(new_name, -1)
        if not flags and young.get(target) is call.client and knobs.strikes(call):
            raise RefusalError(errno.EEXIST)
        rename(call, parent, name, new_parent, new_name, flags)
        young.drop(lab.store.directory(new_parent).get(new_name, -1))

    lab.operations.create, lab.operations.rename = note, refuse


@mutant(
    "replaced-as-enoent",
    "an open that meets a rename is told ENOENT: the handle of the replaced file, looked up before, is gone",
    "ydb-platform/nbs issue 7151; openzfs/zfs pull request 3404; libfuse issue 637: only ESTALE is looked up again",
    ("atomic.presence",),
    window=0.002,
    racy=True,
)
def replaced_as_enoent(lab: Lab, knobs: Knobs) -> None:
    """Opens are held for `window` after their look-up, so that a rename can come in between."""
    open_file, store = lab.operations.open, lab.store

    def open_by_handle(call: Call, number: int, flags: int) -> Any:
        if knobs.strikes(call):
            call.client.pause(knobs.window)
            inode = store.inodes.get(number)
            if inode is None or inode.nlink == 0:
                raise RefusalError(errno.ENOENT)
        return open_file(call, number, flags)

    lab.operations.open = open_by_handle


@mutant(
    "estale-cross-directory",
    "for `ttl` after a rename from another directory over a file, opening it says ESTALE",
    "nfs-ganesha/nfs-ganesha pull request 10: the server goes on answering with the replaced entry",
    (),
    shown_by=BY_CALLS,
)
def estale_cross_directory(lab: Lab, knobs: Knobs) -> None:
    """On every mount; a rename inside one directory is left alone."""
    rename, open_file, store = lab.operations.rename, lab.operations.open, lab.store
    stale: Memory[int, bool] = Memory(lab)

    def replace(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            replaces = _replaces(store, (parent, name), (new_parent, new_name))
            rename(call, parent, name, new_parent, new_name, flags)
            if replaces and parent != new_parent and not flags and knobs.strikes(call):
                stale.keep(store.directory(new_parent)[new_name], True, knobs.ttl)

    def refuse(call: Call, number: int, flags: int) -> Handle:
        if stale.get(number):
            raise RefusalError(errno.ESTALE)
        return open_file(call, number, flags)

    lab.operations.rename, lab.operations.open = replace, refuse


@mutant(
    "manifest-before-data",
    "of two names renamed into one directory by one mount, the other mounts see the second one before the first",
    "KempnerForge issue 49: ranks disagree whether a checkpoint is there after the writer's message",
    ("visibility.create",),
    also={"atomic.order": _NEITHER, "atomic.presence": _FIRST_VERSION},
    ttl=0.2,
)
def manifest_before_data(lab: Lab, knobs: Knobs) -> None:
    """The first name renamed into a directory is hidden from other mounts for `ttl`; the next ones are shown."""
    curtain, rename = Curtain(lab), lab.operations.rename
    begun: Memory[int, bool] = Memory(lab)

    def publish(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        moves = not flags and _moves(lab.store, (parent, name), (new_parent, new_name))
        with lab.store.lock:
            rename(call, parent, name, new_parent, new_name, flags)
            if moves and not begun.get(new_parent) and knobs.strikes(call):
                curtain.hide((new_parent, new_name), knobs.ttl, but_from=call.client)
            begun.keep(new_parent, True, knobs.ttl)

    lab.operations.rename = publish


@mutant(
    "new-then-old",
    "while a rename over a file is under way, look-ups give the new file, then the old one, then the new one",
    "Lamport 1986: regular, not atomic; caches of two servers that a publish reaches one after the other",
    (),
    window=0.02,
    shown_by="the oracle of versions: new-old inversions while the publish is in flight, which no promise forbids",
)
def new_then_old(lab: Lab, knobs: Knobs) -> None:
    """Look-ups that begin after the rename has returned give the new file."""
    rename, lookup, store = lab.operations.rename, lab.operations.lookup, lab.store
    turns: dict[Key, tuple[Inode, float]] = {}

    def linger(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        key = (new_parent, new_name)
        with store.lock:
            old = store.inodes.get(store.directory(new_parent).get(new_name, -1))
            inverts = old is not None and not old.is_directory and not flags & EXCHANGE and key not in turns
            if old is None or not inverts or not knobs.strikes(call):
                rename(call, parent, name, new_parent, new_name, flags)
                return
            old.lookups += 1
            turns[key] = (old, time.monotonic() + knobs.window / 3)
        try:
            rename(call, parent, name, new_parent, new_name, flags)
            call.client.pause(knobs.window)
        finally:
            with store.lock:
                del turns[key]
                store.forget(old.number, 1)

    def take_turns(call: Call, parent: int, name: bytes) -> Inode:
        with store.lock:
            inode = lookup(call, parent, name)
            old, since = turns.get((parent, name), (inode, 0.0))
            if not since < time.monotonic() < since + knobs.window / 3:
                return inode
            old.lookups += 1
            store.forget(inode.number, 1)
            return old

    lab.operations.rename, lab.operations.lookup = linger, take_turns
