"""Which programs of other people are not performed: such as reach out of the round's directory, or go on for ever."""

from __future__ import annotations

from collections.abc import Iterator

from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import Step

MOST_LANES, MOST_STEPS = 16, 4096
MOST_BYTES = 64 << 20
"""Of one block."""
LONGEST_NS = 600_000_000_000
"""Of one sleep or watch."""
_VIRTUAL = "3fs-virt"
_MOVE = "mv:"
"""3FS takes a symbolic link with such a target for a command (src/fuse/FuseOps.cc)."""


def refuse_program(program: Program) -> None:
    """Raises CannotTestError for a program of a file that may not be performed."""
    for fault in _faults(program):
        raise CannotTestError(f"this program is not performed: {fault}")


def _faults(program: Program) -> Iterator[str]:
    if not program.lanes:
        yield "it has no steps"
    if len(program.lanes) > MOST_LANES or sum(len(lane.steps) for lane in program.lanes) > MOST_STEPS:
        yield f"more than {MOST_LANES} workers or {MOST_STEPS} steps"
    for lane in program.lanes:
        if not isinstance(lane.site, str) or len(lane.site) != 1:
            yield "a site is no letter"
    for word in (*program.directories, *program.names):
        yield from _path_faults(word)
    for step in (step for lane in program.lanes for step in lane.steps):
        yield from _step_faults(step)
        if step.then:
            yield from _step_faults(step.then)


def _step_faults(step: Step) -> Iterator[str]:
    numbers = (step.fd, step.version, step.size, step.offset, step.arg)
    if any(type(number) is not int or number < 0 for number in numbers) or not isinstance(step.key, str):
        yield f"{step.kind}: a field is of the wrong kind"
        return
    if step.size > MOST_BYTES or step.offset > MOST_BYTES or (step.kind == "write" and step.arg > MOST_BYTES):
        yield f"{step.kind}: more than {MOST_BYTES >> 20} MiB"
    if step.kind in ("sleep", "watch") and step.arg > LONGEST_NS:
        yield f"{step.kind}: longer than {LONGEST_NS // 1_000_000_000} s"
    attribute = step.kind in ("setxattr", "getxattr")
    for word in (step.path, *(() if attribute else (step.other,)), *step.names):
        yield from _path_faults(word)
    if step.kind == "symlink" and step.path.startswith(_MOVE):
        yield f"a symbolic link whose target begins with {_MOVE}"


def _path_faults(word: object) -> Iterator[str]:
    if not isinstance(word, str) or "\0" in word:
        yield "a path is no text"
    elif word.startswith("/") or ".." in word.split("/"):
        yield f"{word[:80]!r} leads out of its directory"
    elif _VIRTUAL in word.split("/"):
        yield f"{word[:80]!r} lies below {_VIRTUAL}"
