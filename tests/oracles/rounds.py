"""Random programs with random histories, and what a twin believes of one round: naive, one event at a time."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsconform.vocabulary.errnos import HUNG, LOST, NOT_RUN
from fsconform.vocabulary.histories import LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step
from tests.oracles.histories import Pick
from tests.oracles.twins import INF, Op

KEY = "ab" * 32
SIZE = 4096
NAMES = ("d/n", "d/m")
EXCLUSIVE = ("excl_create", "link", "mkdir", "rename_noreplace", "mknod")
OPEN = (errno.EIO, errno.ESTALE, HUNG, LOST)


def _temporary(lane: int, number: int, fd: int) -> tuple[str, list[Step]]:
    path = f"d/t{lane}-{number}"
    return path, [
        Step("excl_create", path, fd=fd), Step("write", fd=fd, key=KEY, size=SIZE), Step("close", fd=fd),
    ]  # fmt: skip


def draw_program(pick: Pick, names: Sequence[str] = NAMES) -> Program:
    """2-3 lanes of 1-3 moves over a few names, on two sites."""
    lanes = []
    for lane in range(pick(2, 3)):
        steps: list[Step] = []
        for number in range(pick(1, 3)):
            name, fd = names[pick(0, len(names) - 1)], number
            temporary, prepare = _temporary(lane, number, fd)
            steps += (
                [Step("stat", name)],
                [Step("open_read", name, key=KEY, size=SIZE)],
                [Step("scandir", "d", names=tuple(each[2:] for each in names))],
                [*prepare, Step("rename", temporary, name)],
                [*prepare, Step("link", temporary, name), Step("unlink", temporary)],
                [Step("excl_create", name, fd=fd), Step("write", fd=fd, key=KEY, size=SIZE), Step("close", fd=fd)],
                [Step("mkdir", name)],
                [*prepare[:2], Step("rename_noreplace", temporary, name), prepare[2]],
                [Step("create", name, fd=fd), Step("write", fd=fd, key=KEY, size=SIZE), Step("close", fd=fd)],
                [Step("watch", name, arg=1000, then=Step("open_read", name, key=KEY, size=SIZE))],
            )[pick(0, 9)]
        lanes.append(Lane("ab"[lane % 2], tuple(steps)))
    return Program(tuple(lanes), ("d",), tuple(names))


def _answers(step: Step) -> tuple[int, ...]:
    kind = step.then.kind if step.then else step.kind
    if kind in EXCLUSIVE and step.path not in NAMES and step.other not in NAMES:
        return (0,) * 12 + (errno.EIO,)
    if kind in EXCLUSIVE:
        return (0, 0, errno.EEXIST, errno.EEXIST, errno.EEXIST, errno.EIO, errno.EINVAL, HUNG)
    if kind in ("create", "rename"):
        return (0,) * 6 + (errno.EIO, errno.ENOSPC, errno.ENOENT if kind == "rename" else errno.EEXIST)
    if kind in ("stat", "open_read", "scandir"):
        return (0,) * 5 + (errno.ENOENT,) * 3 + (errno.EIO,)
    return (0,) * 12 + (errno.EIO,)


def draw_history(pick: Pick, program: Program, rounds: int) -> RoundHistory:
    """Rounds of sequential lanes with small times and arbitrary answers."""
    lanes = []
    for lane in program.lanes:
        cells = np.zeros((5, rounds, len(lane.steps)), np.int64)
        for number in range(rounds):
            now = pick(0, 3)
            for place, step in enumerate(lane.steps):
                choices = _answers(step)
                answer = choices[pick(0, len(choices) - 1)]
                kind = step.then.kind if step.then else step.kind
                end = now + (0, 1, 1, 2, 5)[pick(0, 4)]
                value = pick(0, 3) if kind == "scandir" else (0, 0, 0, 1, 3, 5)[pick(0, 5)]
                if kind == "write":
                    value = SIZE if pick(0, 9) else 100
                cells[:, number, place] = now, INF if answer in (HUNG, LOST) else end, answer, value, 0
                if answer in (HUNG, LOST):
                    cells[0, number, place + 1 :], cells[1, number, place + 1 :] = now, now
                    cells[2, number, place + 1 :] = NOT_RUN
                    break
                now = end + pick(0, 1)
        lanes.append(LaneColumns(*cells))
    return RoundHistory(program, tuple(lanes), tuple(0 for _ in lanes))


@dataclass(frozen=True)
class Event:
    """One performed step."""

    lane: int
    place: int
    site: str
    step: Step
    start: int
    end: int
    errno: int
    value: int

    @property
    def look(self) -> Step:
        """The step itself, or what a watch repeats."""
        return self.step.then or self.step


def events(history: RoundHistory, number: int) -> list[Event]:
    """The steps of one round that were begun."""
    return [
        Event(lane, place, program_lane.site, step, int(columns.invoked[number, place]),
              int(columns.returned[number, place]), int(columns.errno[number, place]),
              int(columns.value[number, place]))
        for lane, (program_lane, columns) in enumerate(zip(history.program.lanes, history.lanes, strict=True))
        for place, step in enumerate(program_lane.steps)
        if columns.errno[number, place] != NOT_RUN
    ]  # fmt: skip


def target(event: Event) -> str:
    """The name an event is about."""
    two = event.look.kind in ("link", "rename", "rename_noreplace")
    return event.look.other if two else event.look.path


def operations(found: Sequence[Event], name: str) -> list[Op]:
    """What one round says about the presence of a name (listings apart), as operations of `step_once`."""
    ops = []
    for event in found:
        kind, answer = event.look.kind, event.errno
        if kind == "scandir" and answer == 0 and event.value >> NAMES.index(name) & 1:
            ops.append(Op("present", event.start, event.end))
        if target(event) != name:
            continue
        if kind in EXCLUSIVE:
            word = {0: "win", errno.EEXIST: "lose"}.get(answer, "maybe" if answer in OPEN else "")
        elif kind == "rename":
            word = {0: "publish", errno.ENOENT: "maybe"}.get(answer, "maybe" if answer in OPEN else "")
        elif kind == "create":
            word = {0: "publish", errno.EEXIST: "maybe"}.get(answer, "maybe" if answer in OPEN else "")
        elif kind in ("stat", "open_read"):
            word = {0: "present", errno.ENOENT: "absent"}.get(answer, "")
        else:
            word = ""
        if kind == "rename_noreplace" and answer == errno.ENOENT:
            word = "maybe"
        if word:
            ops.append(Op(word, event.start, INF if word == "maybe" else event.end))
    return ops
