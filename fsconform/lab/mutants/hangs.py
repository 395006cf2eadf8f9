"""The mutant that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsconform.lab.calls import Call
from fsconform.lab.inodes import Handle, Inode
from fsconform.lab.knobs import Knobs
from fsconform.lab.model import Lab
from fsconform.lab.mutants.registry import mutant

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
