"""Mutants of durability: what a server has acknowledged is gone when it comes up again (`Emulation.crash`)."""

from __future__ import annotations

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Key
from fsconform.lab.mutants.registry import BY_CALLS, mutant


@mutant(
    "restart-loses-data",
    "after a crash of the server the files that were written since the last one are empty, fsync or not",
    "microsoft/WSL2-Linux-Kernel issue 168; libgit2 issue 4123: a name that is durable before its data",
    (),
    shown_by=BY_CALLS,
)
def restart_loses_data(lab: Lab, knobs: Knobs) -> None:
    """Their names stay."""
    write, store = lab.operations.write, lab.store
    written: set[int] = set()

    def note(call: Call, handle: Handle, offset: int, data: memoryview, flags: int) -> int:
        written.add(handle.inode.number)
        return write(call, handle, offset, data, flags)

    def lose() -> None:
        for number in written & store.inodes.keys():
            store.resize(store.inodes[number], 0)
        written.clear()

    lab.operations.write = note
    lab.crashes.append(lose)


@mutant(
    "restart-undoes-renames",
    "after a crash of the server renames whose directory was not fsynced are undone",
    "open(2) NOTES, fsync(2): the name is durable once its directory was fsynced; pingdotgg/t3code issue 10905",
    (),
    shown_by=BY_CALLS,
)
def restart_undoes_renames(lab: Lab, knobs: Knobs) -> None:
    """Renames to free names, the youngest first; the old name comes back."""
    rename, sync_directory, store = lab.operations.rename, lab.operations.sync_directory, lab.store
    done: list[tuple[Key, Key]] = []

    def note(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            free = new_name not in store.directory(new_parent)
            rename(call, parent, name, new_parent, new_name, flags)
            if free and knobs.strikes(call):
                done.append(((parent, name), (new_parent, new_name)))

    def settle(call: Call, number: int) -> None:
        sync_directory(call, number)
        with store.lock:
            done[:] = [(old, new) for old, new in done if new[0] != number]

    def lose() -> None:
        for (parent, name), (new_parent, new_name) in reversed(done):
            source, target = store.inodes.get(parent), store.inodes.get(new_parent)
            if source is None or target is None or source.children is None or target.children is None:
                continue
            if new_name in target.children and name not in source.children:
                store.add_name(source, name, store.remove_name(target, new_name))
        done.clear()

    lab.operations.rename, lab.operations.sync_directory = note, settle
    lab.crashes.append(lose)
