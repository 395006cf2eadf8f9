"""Mutants of truncation."""

from __future__ import annotations

from dataclasses import replace

from fsconform.lab.calls import Call
from fsconform.lab.inodes import AttributeChange, Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.memory import Memory
from fsconform.lab.mutants.registry import mutant


@mutant(
    "cut-ignored",
    "ftruncate to a smaller length says success and leaves the file as it is",
    "POSIX ftruncate(); object stores behind FUSE that only cut at the next write: the mapping keeps its pages",
    ("mmap.truncate",),
)
def cut_ignored(lab: Lab, knobs: Knobs) -> None:
    """Opens with O_TRUNC are left alone. The client's kernel cuts its mappings to the length that it is told."""
    set_attributes, store = lab.operations.set_attributes, lab.store

    def ignore(call: Call, number: int, change: AttributeChange) -> Inode:
        with store.lock:
            shorter = change.size is not None and change.size < len(store.inode(number).data)
            ignored = shorter and knobs.strikes(call)
            return set_attributes(call, number, replace(change, size=None) if ignored else change)

    lab.operations.set_attributes = ignore


@mutant(
    "cut-unseen",
    "for `ttl` after a file was cut, other mounts are told its old length, and read what it had there",
    "llvm/llvm-project pull request 220936: the attribute cache hides that a mapped file was changed",
    (),
    shown_by="plain calls (tests/lab/evidence): no profile promises when another client's mapping is cut",
)
def cut_unseen(lab: Lab, knobs: Knobs) -> None:
    """truncate(2) and ftruncate(2); an open with O_TRUNC is seen at once."""
    operations, store = lab.operations, lab.store
    size, read, set_attributes = operations.size, operations.read, operations.set_attributes
    before: Memory[int, tuple[bytes, int]] = Memory(lab)

    def cut(call: Call, number: int, change: AttributeChange) -> Inode:
        with store.lock:
            inode = store.inode(number)
            shorter = change.size is not None and change.size < len(inode.data)
            if shorter and knobs.strikes(call):
                before.keep(number, (bytes(inode.data), call.client.number), knobs.ttl)
            return set_attributes(call, number, change)

    def old_size(call: Call, inode: Inode) -> int:
        data, by = before.get(inode.number) or (b"", call.client.number)
        return size(call, inode) if by == call.client.number else len(data)

    def read_old(call: Call, handle: Handle, offset: int, length: int, flags: int) -> bytes:
        data, by = before.get(handle.inode.number) or (b"", call.client.number)
        if by == call.client.number:
            return read(call, handle, offset, length, flags)
        return data[offset : offset + length]

    operations.size, operations.read, operations.set_attributes = old_size, read_old, cut
