"""Mutants of rename: moments in which a name is not there."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.contests import Key
from fsconform.lab.mutants.registry import mutant
from fsconform.lab.operations.renames import EXCHANGE


class _Curtain:
    """Names that look-ups do not find for a moment; every other operation does."""

    def __init__(self, lab: Lab) -> None:
        self.store, self.lookup = lab.store, lab.operations.lookup
        self.hidden: Counter[Key] = Counter()
        lab.operations.lookup = self.overlook

    @contextmanager
    def hide(self, key: Key) -> Iterator[None]:
        """For the duration of the block."""
        with self.store.lock:
            self.hidden[key] += 1
        try:
            yield
        finally:
            with self.store.lock:
                self.hidden[key] -= 1
                if not self.hidden[key]:
                    del self.hidden[key]

    def overlook(self, call: Call, parent: int, name: bytes) -> Inode:
        """ENOENT for a hidden name."""
        with self.store.lock:
            if (parent, name) in self.hidden:
                raise RefusalError(errno.ENOENT)
            return self.lookup(call, parent, name)


@mutant(
    "rename-gap",
    "while a rename replaces a file, its name is missing for a moment",
    "libfuse issue 637; sshfs workaround=rename: the target is removed first",
    ("atomic.presence",),
)
def rename_gap(lab: Lab, knobs: Knobs) -> None:
    """The old name stays until the new one is there."""
    curtain, rename, store = _Curtain(lab), lab.operations.rename, lab.store

    def with_gap(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            replaces = new_name in store.directory(new_parent) and name in store.directory(parent)
        if replaces and not flags & EXCHANGE and knobs.strikes(call):
            with curtain.hide((new_parent, new_name)):
                call.client.pause(knobs.window)
        rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = with_gap


@mutant(
    "rename-neither",
    "while a file is renamed to a free name, for a moment neither name is there",
    "POSIX rename() RATIONALE: the file is never without a name",
    ("atomic.order",),
)
def rename_neither(lab: Lab, knobs: Knobs) -> None:
    """Renames over an existing name are left alone."""
    curtain, rename, store = _Curtain(lab), lab.operations.rename, lab.store

    def in_two_steps(call: Call, parent: int, name: bytes, new_parent: int, new_name: bytes, flags: int) -> None:
        with store.lock:
            moves = new_name not in store.directory(new_parent) and name in store.directory(parent)
        if moves and knobs.strikes(call):
            with curtain.hide((parent, name)):
                call.client.pause(knobs.window)
                rename(call, parent, name, new_parent, new_name, flags)
        else:
            rename(call, parent, name, new_parent, new_name, flags)

    lab.operations.rename = in_two_steps
