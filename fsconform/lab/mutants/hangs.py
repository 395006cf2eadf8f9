"""Mutants that do not answer, or answer that they were interrupted."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable
from typing import Any

from fsconform.lab.calls import Call, RefusalError
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.locks import UNLOCK, Lock
from fsconform.lab.model import Lab
from fsconform.lab.mutants.registry import BY_CALLS, mutant

_BY_NAME = {"lookup": "lookup", "create": "create", "rename": "rename"}
_BY_HANDLE = {"read": "read", "write": "write", "close": "flush", "sync": "sync"}
_BY_NUMBER = {"open": "open", "stat": "get_attributes"}


@mutant(
    "hang",
    "one operation (`op`) on names that contain `match` does not return for `window` seconds",
    "mount.nfs(8) hard mounts; 3FS src/client/meta/MetaClient.h: retries for a minute",
    (),
    window=45.0,
    shown_by="the tests of faults: the run ends in time and says what hung",
)
def hang(lab: Lab, knobs: Knobs) -> None:
    """The caller waits in the kernel and cannot be killed until the answer comes or the lab ends."""
    names = _Names(lab)

    def stall(call: Call, name: bytes) -> None:
        if knobs.match.encode() in name and knobs.strikes(call):
            call.client.pause(knobs.window)

    def wrap(field: str, name_of: Callable[[tuple[Any, ...]], bytes]) -> None:
        inner = getattr(lab.operations, field)

        def stalled(call: Call, *arguments: Any) -> Any:
            stall(call, name_of(arguments))
            return inner(call, *arguments)

        setattr(lab.operations, field, stalled)

    if knobs.op in _BY_NAME:
        wrap(_BY_NAME[knobs.op], lambda arguments: bytes(arguments[1]))
    elif knobs.op in _BY_HANDLE:
        wrap(_BY_HANDLE[knobs.op], lambda arguments: names.of_handle(arguments[0]))
    elif knobs.op in _BY_NUMBER:
        wrap(_BY_NUMBER[knobs.op], lambda arguments: names.last.get(arguments[0], b""))
    else:
        wrap("open_directory", lambda arguments: names.last.get(arguments[0], b""))


class _Names:
    """The name under which each inode was looked up last."""

    def __init__(self, lab: Lab) -> None:
        self.last: dict[int, bytes] = {}
        self.lookup, self.create = lab.operations.lookup, lab.operations.create
        lab.operations.lookup, lab.operations.create = self.note_lookup, self.note_create

    def of_handle(self, handle: Handle) -> bytes:
        """The name of an open file."""
        return handle.name or self.last.get(handle.inode.number, b"")

    def note_lookup(self, call: Call, parent: int, name: bytes) -> Inode:
        inode = self.lookup(call, parent, name)
        self.last[inode.number] = name
        return inode

    def note_create(self, call: Call, parent: int, name: bytes, flags: int, mode: int) -> tuple[Inode, Handle]:
        inode, handle = self.create(call, parent, name, flags, mode)
        self.last[inode.number] = name
        return inode, handle


@mutant(
    "locks-hang",
    "a wish for a lock is not answered for `window` seconds, not even one that was not to wait",
    "huggingface/datasets issue 329: FSx for Lustre; willscott/go-nfs issue 98: flock hangs unless nolock",
    (),
    window=45.0,
    shown_by=BY_CALLS,
)
def locks_hang(lab: Lab, knobs: Knobs) -> None:
    """Unlocking is answered."""
    set_lock = lab.operations.set_lock

    def stall(call: Call, number: int, wish: Lock, wait: bool) -> bool:
        if wish.kind != UNLOCK and knobs.strikes(call):
            call.client.pause(knobs.window)
        return set_lock(call, number, wish, wait)

    lab.operations.set_lock = stall


@mutant(
    "eintr-storm",
    "every third call of a kind that changes or reads attributes or names is told EINTR, and has no effect",
    "restic/restic issues 3060 and 2659: chmod, lstat, listxattr and readdir told EINTR on CIFS and NFS",
    (),
    shown_by=BY_CALLS,
)
def eintr_storm(lab: Lab, knobs: Knobs) -> None:
    """chmod and its like, listxattr, getxattr, rename, unlink: none of them is begun again by the caller's library."""
    numbers = itertools.count(1)

    def interrupted(field: str) -> None:
        inner = getattr(lab.operations, field)

        def perform(call: Call, *arguments: Any) -> Any:
            if next(numbers) % 3 == 0 and knobs.strikes(call):
                raise RefusalError(errno.EINTR)
            return inner(call, *arguments)

        setattr(lab.operations, field, perform)

    for field in ("set_attributes", "list_xattrs", "get_xattr", "rename", "unlink"):
        interrupted(field)
