"""Mutants of files that are open, or mapped, when another mount replaces or removes them."""

from __future__ import annotations

import errno
from collections.abc import Callable

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import EXCHANGE

Taken = Callable[[Call, Inode], None]
"""Called when the last name of an open file was taken away."""


def _on_replace(lab: Lab, knobs: Knobs, taken: Taken) -> None:
    rename, store = lab.operations.rename, lab.store

    def replace(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            old = store.inodes.get(store.directory(new_parent).get(new_name, -1))
            rename(call, parent, name, new_parent, new_name, flags)
            replaced = old is not None and old.nlink <= 0 and not old.is_directory and not flags & EXCHANGE
            if old is not None and replaced and old.opens and knobs.strikes(call):
                taken(call, old)

    lab.operations.rename = replace


def _on_unlink(lab: Lab, knobs: Knobs, taken: Taken) -> None:
    unlink, store = lab.operations.unlink, lab.store

    def remove(call: Call, parent: int, name: bytes) -> None:
        with store.lock:
            old = store.inodes.get(store.directory(parent).get(name, -1))
            unlink(call, parent, name)
            if old is not None and old.nlink <= 0 and old.opens and knobs.strikes(call):
                taken(call, old)

    lab.operations.unlink = remove


def _stale_handles(lab: Lab) -> Taken:
    """ESTALE to other mounts' reads and attributes of what was taken away."""
    read, get_attributes = lab.operations.read, lab.operations.get_attributes
    taken_by: dict[int, int] = {}

    def refuse(call: Call, number: int) -> None:
        if taken_by.get(number, call.client.number) != call.client.number:
            raise RefusalError(errno.ESTALE)

    def read_taken(call: Call, handle: Handle, offset: int, size: int, flags: int) -> bytes:
        refuse(call, handle.inode.number)
        return read(call, handle, offset, size, flags)

    def get_taken(call: Call, number: int) -> Inode:
        refuse(call, number)
        return get_attributes(call, number)

    def take(call: Call, inode: Inode) -> None:
        taken_by[inode.number] = call.client.number

    lab.operations.read, lab.operations.get_attributes = read_taken, get_taken
    return take


@mutant(
    "estale-on-replace",
    "a descriptor or mapping of a file that another mount replaces is dead at once: ESTALE",
    "cvmfs/cvmfs pull request 559; prime-rl pull request 2305; openzfs/zfs issue 6197; llvm pull request 220936",
    ("atomic.held-reader", "mmap.held-reader"),
)
def estale_on_replace(lab: Lab, knobs: Knobs) -> None:
    """The replacing mount's own descriptors go on."""
    _on_replace(lab, knobs, _stale_handles(lab))


@mutant(
    "estale-on-unlink",
    "a descriptor or mapping of a file that another mount removes is dead at once: ESTALE",
    "nfs(5): a file removed at the server or by another client is gone for whoever has it open",
    ("unlink.held-reader", "mmap.held-reader"),
)
def estale_on_unlink(lab: Lab, knobs: Knobs) -> None:
    """The removing mount's own descriptors go on."""
    _on_unlink(lab, knobs, _stale_handles(lab))


def _drop_data(lab: Lab) -> Taken:
    return lambda call, inode: lab.store.resize(inode, 0)


@mutant(
    "replaced-truncated",
    "a file is emptied when it is replaced: who has it open or mapped finds its end at once",
    "LMCache issue 2517: a fixed temporary name is truncated under its readers; NVIDIA/TensorRT-LLM pull request 17368",
    ("atomic.held-reader", "mmap.held-reader"),
    also={"atomic.content": "readers that opened the old version right before find it cut"},
)
def replaced_truncated(lab: Lab, knobs: Knobs) -> None:
    """No error is told."""
    _on_replace(lab, knobs, _drop_data(lab))


@mutant(
    "unlinked-truncated",
    "the data of a removed file are dropped at once: who has it open reads an end of file, without any error",
    "deepseek-ai/3FS docs/design_notes.md: read-only descriptors do not delay the deletion; src/fuse/PioV.cc",
    ("unlink.held-reader", "mmap.held-reader"),
)
def unlinked_truncated(lab: Lab, knobs: Knobs) -> None:
    """No error is told."""
    _on_unlink(lab, knobs, _drop_data(lab))
