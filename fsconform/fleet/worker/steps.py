"""Steps compiled to zero-argument calls: nothing touches the filesystem, and contents are made, before a round."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from functools import partial
from typing import Any, Callable, NamedTuple, Optional, Sequence

from fsconform.fleet.worker import blocks, calls, looks
from fsconform.fleet.worker.barrier import Meeting
from fsconform.fleet.worker.descriptors import Descriptors, EmptySlot
from fsconform.fleet.worker.looks import Built, Call, Decode, Step, attribute, nothing
from fsconform.fleet.worker.watchdog import beat

NOT_RUN = -3
"""As `vocabulary.errnos.NOT_RUN`."""
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
    """What a watch saw: the decisive look, with its own stamps in ns. `result` may be an exception."""

    invoked: int
    returned: int
    result: Any


def compile_step(wire: "Sequence[Any]", slots: Descriptors, meeting: Optional[Meeting] = None) -> Compiled:
    """A step from its wire form. Raises ValueError for a kind unknown here or one that needs partners."""
    step = Step(*wire)
    if step.kind == "watch":
        return Compiled(*_build_watch(step, slots, meeting), LOOK)
    if step.kind in _LOOKS:
        return Compiled(*_LOOKS[step.kind](step, slots), LOOK)
    if step.kind in _MUTATIONS:
        return Compiled(*_MUTATIONS[step.kind](step, slots), MUTATION)
    if step.kind in _CONTROLS and meeting is not None:
        return Compiled(_CONTROLS[step.kind](step, meeting), nothing, CONTROL)
    raise ValueError("this worker cannot perform step {!r} here".format(step.kind))


def decode(compiled: Compiled, result: Any) -> "tuple[int, int, int]":
    """(errno, value, detail) of what a call returned or raised."""
    if isinstance(result, Watched):
        result = result.result
    if isinstance(result, OSError):
        return result.errno or errno.EIO, 0, 0
    if isinstance(result, EmptySlot):
        return NOT_RUN, 0, 0
    return (0, *compiled.decode(result))


def _opening(flags: int) -> "Callable[[Step, Descriptors], Built]":
    def build(step: Step, slots: Descriptors) -> Built:
        path, slot = step.path or ".", step.fd

        def act() -> None:
            slots.vacate(slot)
            slots[slot] = os.open(path, flags, _MODE)

        return act, nothing

    return build


def _build_open(step: Step, slots: Descriptors) -> Built:
    return _opening(os.O_RDONLY if step.arg == 1 else os.O_RDWR)(step, slots)


def _build_write(step: Step, slots: Descriptors) -> Built:
    """`arg`: length of the whole block where it is written in pieces, else the write is taken for its end."""
    end = step.offset + step.size
    whole = blocks.make(step.key, step.version, max(step.arg, end))
    data = whole if len(whole) == step.size else whole[step.offset : end]
    slot, offset = step.fd, step.offset
    return lambda: os.pwrite(slots[slot], data, offset), lambda count: (count, 0)


def _on_path(function: "Callable[[str], Any]") -> "Callable[[Step, Descriptors], Built]":
    return lambda step, _slots: (partial(function, step.path), nothing)


def _on_two_paths(function: "Callable[[str, str], Any]") -> "Callable[[Step, Descriptors], Built]":
    return lambda step, _slots: (partial(function, step.path, step.other), nothing)


def _on_slot(function: "Callable[[int], Any]") -> "Callable[[Step, Descriptors], Built]":
    return lambda step, slots: ((lambda: function(slots[step.fd])), nothing)


def _build_fallocate(step: Step, slots: Descriptors) -> Built:
    return lambda: calls.fallocate(slots[step.fd], step.offset, step.size), nothing


def _build_setxattr(step: Step, _slots: Descriptors) -> Built:
    return partial(os.setxattr, step.path, attribute(step.other), step.key.encode()), nothing


def _build_flock(step: Step, slots: Descriptors) -> Built:
    operation = _LOCKS[step.arg]
    return lambda: fcntl.flock(slots[step.fd], operation), nothing


def _build_fcntl_lock(step: Step, slots: Descriptors) -> Built:
    operation = _LOCKS[step.arg]
    return lambda: fcntl.lockf(slots[step.fd], operation), nothing


def _build_watch(step: Step, slots: Descriptors, meeting: Optional[Meeting]) -> Built:
    """Repeat a look until it is wrong or time is up: neither ENOENT nor success, or content that is not exact."""
    inner = compile_step(step.then, slots)
    judges_content = Step(*step.then).kind in CONTENT_LOOKS

    def wrong(result: Any) -> bool:
        if isinstance(result, (OSError, EmptySlot)):
            return getattr(result, "errno", None) != errno.ENOENT
        return judges_content and inner.decode(result)[0] & 0xFF != blocks.EXACT

    def act() -> Watched:
        clock = time.monotonic_ns
        end = clock() + step.arg
        while True:
            invoked = clock()
            try:
                result = inner.call()
            except (OSError, EmptySlot) as error:
                result = error.with_traceback(None)
            returned = clock()
            beat()
            if wrong(result) or returned >= end or (meeting is not None and meeting.halted()):
                return Watched(invoked, returned, result)

    return act, inner.decode


CONTENT_LOOKS = frozenset({"open_read", "open_fstat_read", "open_direct", "read_held", "mmap_read"})
_CREATE = os.O_CREAT | os.O_WRONLY
_MUTATIONS: "dict[str, Callable[[Step, Descriptors], Built]]" = {
    "excl_create": _opening(_CREATE | os.O_EXCL),
    "create": _opening(_CREATE),
    "open": _build_open,
    "open_tmpfile": _opening(os.O_TMPFILE | os.O_RDWR),
    "close": lambda step, slots: (partial(slots.close_slot, step.fd), nothing),
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
    "fsync": _on_slot(os.fsync),
    "fdatasync": _on_slot(os.fdatasync),
    "fsync_dir": _on_path(calls.sync_directory),
    "fallocate": _build_fallocate,
    "setxattr": _build_setxattr,
    "flock": _build_flock,
    "fcntl_lock": _build_fcntl_lock,
}
_LOOKS: "dict[str, Callable[[Step, Descriptors], Built]]" = {
    "open_dir": _opening(os.O_RDONLY | os.O_DIRECTORY),
    "stat": looks.build_stat,
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
