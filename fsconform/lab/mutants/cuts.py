"""Mutants of truncation."""

from __future__ import annotations

from dataclasses import replace

from fsconform.lab.calls import Call
from fsconform.lab.inodes import AttributeChange, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
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
