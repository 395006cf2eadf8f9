"""Steps compiled to zero-argument calls: nothing touches the filesystem, and contents are made, before a round."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from functools import partial
from operator import index
from typing import Any, Callable, NamedTuple, Optional, Sequence

from fsconform.fleet.worker import blocks, calls, looks
from fsconform.fleet.worker.barrier import Meeting
from fsconform.fleet.worker.descriptors import EMPTY, EmptySlot, Handles, Refusal
from fsconform.fleet.worker.looks import Built, Call, Decode, Step, attribute, nothing
from fsconform.fleet.worker.watchdog import beat

LOOK, MUTATION, CONTROL = "look", "mutation", "control"
_MODE = 0o644
_LOCKS = {1: fcntl.LOCK_EX | fcntl.LOCK_NB, 2: fcntl.LOCK_EX, 8: fcntl.LOCK_UN}


class Compiled(NamedTuple):
    """One step ready to be performed."""

    call: Call
    decode: Decode
    """result -> (value, detail), after the timed part."""
    family: str
    """`look` (gets a clock stamp of its own at its invocation), `mutation` or `control`."""


class Watched(NamedTuple):
    """What a watch saw: the decisive look, with its own stamps in ns. `result` may be a Refusal."""

    invoked: int
    returned: int
    result: Any


def family(wire: "Sequence[Any]") -> str:
    """The family of a step in its wire form. Raises ValueError for a kind unknown here."""
    kind = wire[0]
    if kind in _LOOKS or kind == "watch":
        return LOOK
    if kind in _MUTATIONS or kind in _CONTROLS:
        return MUTATION if kind in _MUTATIONS else CONTROL
    raise ValueError("this worker cannot perform step {!r}".format(kind))


def compile_step(wire: "Sequence[Any]", handles: Handles, meeting: Optional[Meeting] = None) -> Compiled:
    """A step from its wire form. Raises ValueError for a kind unknown here or one that needs partners."""
    step, kind = Step(*wire), family(wire)
    if step.kind == "watch":
        return Compiled(*_build_watch(step, handles, meeting), kind)
    if kind != CONTROL:
        return Compiled(*(_LOOKS if kind == LOOK else _MUTATIONS)[step.kind](step, handles), kind)
    if meeting is None:
        raise ValueError("step {!r} needs partners".format(step.kind))
    return Compiled(_CONTROLS[step.kind](step, meeting), nothing, kind)


def decode(compiled: Compiled, result: Any) -> "tuple[int, int, int]":
    """(errno, value, detail) of what a call returned, or was refused."""
    if type(result) is Watched:
        result = result.result
    if type(result) is Refusal:
        return result.errno, 0, 0
    return (0, *compiled.decode(result))


def attempt(call: Call) -> Any:
    """What one call returns, or its Refusal."""
    try:
        return call()
    except OSError as error:
        return refusal(error)
    except EmptySlot:
        return EMPTY


def refusal(error: OSError) -> Refusal:
    """An OSError as it stands in results (without its traceback, which would keep frames alive)."""
    return Refusal(error.errno or errno.EIO)


def _opening(flags: int) -> "Callable[[Step, Handles], Built]":
    def build(step: Step, handles: Handles) -> Built:
        handles.opening(step.fd)
        return partial(os.open, step.path or ".", flags, _MODE), nothing

    return build


def _build_open(step: Step, handles: Handles) -> Built:
    return _opening(os.O_RDONLY if step.arg == 1 else os.O_RDWR)(step, handles)


def _build_close(step: Step, handles: Handles) -> Built:
    table, call, empty = handles.slots.table, os.close, EMPTY
    where, at = handles.closing(step.fd)
    if where is not table:
        return lambda: call(where[at]), nothing

    def act() -> None:
        descriptor = table[at]
        table[at] = empty
        call(descriptor)

    return act, nothing


def _build_write(step: Step, handles: Handles) -> Built:
    """`arg`: length of the whole block where it is written in pieces, else the write is taken for its end."""
    end = step.offset + step.size
    whole = blocks.make(step.key, step.version, max(step.arg, end))
    data = whole if len(whole) == step.size else whole[step.offset : end]
    offset, call = step.offset, os.pwrite
    where, at = handles.find(step.fd)
    return lambda: call(where[at], data, offset), lambda count: (count, 0)


def _on_path(function: "Callable[[str], Any]") -> "Callable[[Step, Handles], Built]":
    return lambda step, _slots: (partial(function, step.path), nothing)


def _on_two_paths(function: "Callable[[str, str], Any]") -> "Callable[[Step, Handles], Built]":
    return lambda step, _slots: (partial(function, step.path, step.other), nothing)


def _on_slot(function: "Callable[[int], Any]") -> "Callable[[Step, Handles], Built]":
    def build(step: Step, handles: Handles) -> Built:
        where, at = handles.find(step.fd)
        return lambda: function(where[at]), nothing

    return build


def _build_fallocate(step: Step, handles: Handles) -> Built:
    where, at = handles.find(step.fd)
    return lambda: calls.fallocate(index(where[at]), step.offset, step.size), nothing


def _build_truncate(step: Step, handles: Handles) -> Built:
    where, at = handles.find(step.fd)
    return lambda: os.ftruncate(where[at], step.size), nothing


def _build_copy_range(step: Step, _handles: Handles) -> Built:
    return partial(calls.copy_range, step.path, step.other, step.size), lambda count: (count, 0)


def _build_setxattr(step: Step, _handles: Handles) -> Built:
    return partial(os.setxattr, step.path, attribute(step.other), step.key.encode()), nothing


def _build_flock(step: Step, handles: Handles) -> Built:
    operation = _LOCKS[step.arg]
    where, at = handles.find(step.fd)
    return lambda: fcntl.flock(where[at], operation), nothing


def _build_fcntl_lock(step: Step, handles: Handles) -> Built:
    operation = _LOCKS[step.arg]
    where, at = handles.find(step.fd)
    return lambda: fcntl.lockf(where[at], operation), nothing


def _build_watch(step: Step, handles: Handles, meeting: Optional[Meeting]) -> Built:
    """Repeat a look until it is wrong or time is up: neither ENOENT nor success, or content that is not exact."""
    inner = compile_step(step.then, handles)
    judges_content = Step(*step.then).kind in CONTENT_LOOKS

    def wrong(result: Any) -> bool:
        if type(result) is Refusal:
            return result.errno != errno.ENOENT
        return judges_content and inner.decode(result)[0] & 0xFF != blocks.EXACT

    def act() -> Watched:
        clock = time.monotonic_ns
        end = clock() + step.arg
        while True:
            invoked = clock()
            result = attempt(inner.call)
            returned = clock()
            beat()
            if wrong(result) or returned >= end or (meeting is not None and meeting.halted()):
                return Watched(invoked, returned, result)

    return act, inner.decode


CONTENT_LOOKS = frozenset({"open_read", "open_fstat_read", "open_direct", "read_held", "mmap_read", "read_mapping"})
_CREATE = os.O_CREAT | os.O_WRONLY
_MUTATIONS: "dict[str, Callable[[Step, Handles], Built]]" = {
    "excl_create": _opening(_CREATE | os.O_EXCL),
    "create": _opening(_CREATE),
    "open": _build_open,
    "open_append": _opening(os.O_WRONLY | os.O_APPEND),
    "open_tmpfile": _opening(os.O_TMPFILE | os.O_RDWR),
    "close": _build_close,
    "rename": _on_two_paths(os.rename),
    "rename_noreplace": _on_two_paths(calls.rename_noreplace),
    "rename_exchange": _on_two_paths(calls.rename_exchange),
    "link": _on_two_paths(os.link),
    "symlink": _on_two_paths(os.symlink),
    "mkdir": _on_path(os.mkdir),
    "rmdir": _on_path(os.rmdir),
    "unlink": _on_path(os.unlink),
    "mknod": lambda step, _slots: (partial(os.mknod, step.path, _MODE | stat.S_IFREG), nothing),
    "write": _build_write,
    "write_held": _build_write,
    "truncate": _build_truncate,
    "copy_range": _build_copy_range,
    "fsync": _on_slot(os.fsync),
    "fdatasync": _on_slot(os.fdatasync),
    "fsync_dir": _on_path(calls.sync_directory),
    "fallocate": _build_fallocate,
    "setxattr": _build_setxattr,
    "flock": _build_flock,
    "fcntl_lock": _build_fcntl_lock,
}
_LOOKS: "dict[str, Callable[[Step, Handles], Built]]" = {
    "open_dir": _opening(os.O_RDONLY | os.O_DIRECTORY),
    "stat": looks.build_stat,
    "stat_links": looks.build_stat_links,
    "access": looks.build_access,
    "statx_force_sync": looks.build_statx_force_sync,
    "scandir": looks.build_scandir,
    "scandir_held": looks.build_scandir_held,
    "open_read": looks.build_open_read,
    "open_fstat_read": looks.build_open_fstat_read,
    "open_fstat": looks.build_open_fstat,
    "open_direct": looks.build_open_direct,
    "read_held": looks.build_read_held,
    "fstat_held": looks.build_fstat_held,
    "mmap_read": looks.build_mmap_read,
    "map_held": looks.build_map_held,
    "read_mapping": looks.build_read_mapping,
    "read_records": looks.build_read_records,
    "getxattr": looks.build_getxattr,
}
_CONTROLS: "dict[str, Callable[[Step, Meeting], Call]]" = {
    "barrier": lambda _step, meeting: meeting.meet,
    "wait": lambda step, meeting: partial(meeting.wait, step.offset, step.arg),
    "signal": lambda step, meeting: partial(meeting.signal, step.offset, step.arg),
    "sleep": lambda step, meeting: partial(meeting.sleep, step.arg),
}
KINDS = frozenset(_MUTATIONS) | frozenset(_LOOKS) | frozenset(_CONTROLS) | {"watch"}
"""Every step this worker can perform; equal to the vocabulary's (a test compares)."""
