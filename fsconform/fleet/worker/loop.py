"""Rounds of one lane: steps performed back to back, one clock stamp per step, results decoded between rounds.

The stamp after a step is also "invoked" of the next one, which only widens intervals; a look has one more stamp of
its own at its invocation, because a stall before a look must not make the time of a hit too early.
"""

from __future__ import annotations

import operator
import os
import time
from array import array
from typing import Any, Callable, Optional, Sequence

from fsconform.fleet.worker.barrier import Aborted, Meeting, Place
from fsconform.fleet.worker.descriptors import EMPTY, NOT_RUN, EmptySlot, Handles, Slots
from fsconform.fleet.worker.line import open_meeting
from fsconform.fleet.worker.requests import Current, function
from fsconform.fleet.worker.steps import (
    CONTROL,
    LOOK,
    Compiled,
    Watched,
    compile_step,
    decode,
    family,
    refusal,
)

HUNG = -1
"""As `vocabulary.errnos.HUNG`."""
INF = 1 << 62
_ENTER_PATIENCE_NS = 2_000_000_000
_clock = time.monotonic_ns
_call = getattr(operator, "call", None)


def perform(calls: "Sequence[Callable[[], Any]]", results: "list[Any]") -> None:
    """Make calls in order; append what each returned, or a Refusal.

    Anything but OSError and EmptySlot (Aborted) ends it. `results` grows call by call: the watchdog counts, and
    later calls take descriptors from it.
    """
    rest = iter(calls)
    append = results.append
    while True:
        try:
            if _call is not None:
                results.extend(map(_call, rest))  # the loop in C: a clock stamp and its storing take 60 ns
            else:
                for call in rest:
                    append(call())
            return
        except OSError as error:
            append(refusal(error))
        except EmptySlot:
            append(EMPTY)


class Score:
    """A lane's steps with clock stamps between them, their results, and where to find what in those."""

    def __init__(self, wires: "Sequence[Any]", slots: Slots, meeting: "Optional[Meeting]" = None) -> None:
        self.steps: "list[Compiled]" = []
        self.calls: "list[Callable[[], Any]]" = [_clock]
        self._handles = Handles(slots)
        self.results = self._handles.results
        self._invoked_at: "list[int]" = []
        for wire in wires:
            if family(wire) == LOOK:
                self.calls.append(_clock)
            self._invoked_at.append(len(self.calls) - 1)
            self._handles.position = len(self.calls)
            self.steps.append(compile_step(wire, self._handles, meeting))
            self.calls += (self.steps[-1].call, _clock)

    def perform(self) -> None:
        """Perform the steps once; what they leave open goes to the slots. Raises Aborted."""
        self.results.clear()
        try:
            perform(self.calls, self.results)
        finally:
            self._handles.settle()

    def events(self) -> "list[tuple[int, int, int, int, int]]":
        """(invoked, returned, errno, value, detail) per step, from what there is of the results.

        The step after the last stamp was invoked and did not return: HUNG, returned INF; those after it NOT_RUN,
        and so is a wait that was ended.
        """
        return [self._event(number) for number in range(len(self.steps))]

    def _event(self, number: int) -> "tuple[int, int, int, int, int]":
        step, at, out = self.steps[number], self._invoked_at[number], self.results
        if at >= len(out):
            return INF, INF, NOT_RUN, 0, 0
        if at + 2 >= len(out):
            return (INF, INF, NOT_RUN, 0, 0) if step.family == CONTROL else (out[at], INF, HUNG, 0, 0)
        invoked, result, returned = out[at : at + 3]
        if isinstance(result, Watched):
            invoked, returned = result.invoked, result.returned
        return (invoked, returned, *decode(step, result))


class Columns:
    """Five columns of 64-bit numbers, one entry per event: invoked, returned, errno, value, detail."""

    def __init__(self) -> None:
        self.columns = [array("q") for _ in range(5)]

    def add(self, events: "Sequence[tuple[int, ...]]") -> None:
        """Append the events of one round."""
        for place, column in enumerate(self.columns):
            column.extend([event[place] for event in events])

    def to_bytes(self) -> "tuple[bytes, ...]":
        """What travels home."""
        return tuple(column.tobytes() for column in self.columns)


@function("rounds")
def run_rounds(
    place: "Sequence[Any]", base: str, directories: "Sequence[str]", rounds: int, wires: "Sequence[Any]"
) -> "tuple[int, tuple[bytes, ...], str]":
    """One lane of `rounds` rounds in the directories `base`/0, `base`/1, ...

    Gives (rounds begun, columns, why it ended early). Lane 0 makes all directories before the first round.
    """
    own, slots = Place(*place), Slots()
    meeting = open_meeting(own)
    score, columns, begun, reason = Score(wires, slots, meeting), Columns(), 0, ""

    def report() -> "tuple[int, tuple[bytes, ...], str]":
        columns.add(score.events())
        return begun, columns.to_bytes(), "hung"

    Current.watchdog.begin(Current.deadline_s, lambda: len(score.results), report)
    processors = os.sched_getaffinity(0)
    try:
        _spread(sorted(processors), own.seat)
        if own.lane == 0:
            _make_directories(base, directories, rounds)
        meeting.meet()
        for number in range(rounds):
            _enter("{}/{}".format(base, number))
            meeting.begin_round(number)
            score.results.clear()
            meeting.meet()
            begun += 1
            try:
                score.perform()
            finally:
                columns.add(score.events())
                slots.close_all()
            meeting.heed()
    except Aborted as ending:
        reason = str(ending)
    finally:
        os.chdir("/")
        os.sched_setaffinity(0, processors)
    return begun, columns.to_bytes(), reason


def _spread(processors: "Sequence[int]", seat: int) -> None:
    """Lanes on processors of their own: two that share one take turns at every yield and never overlap.

    Measured on two processors: without this 0 % of the rounds of two lanes overlapped whenever the scheduler had put
    both on one of them.
    """
    os.sched_setaffinity(0, {processors[seat % len(processors)]})


def _make_directories(base: str, directories: "Sequence[str]", rounds: int) -> None:
    os.makedirs(base, exist_ok=True)
    for number in range(rounds):
        top = "{}/{}".format(base, number)
        os.mkdir(top)
        for directory in directories:
            os.makedirs("{}/{}".format(top, directory), exist_ok=True)


def _enter(directory: str) -> None:
    """chdir, patient with a client that does not see the new directory yet."""
    start = _clock()
    while True:
        try:
            return os.chdir(directory)
        except FileNotFoundError:
            if _clock() - start > _ENTER_PATIENCE_NS:
                raise
            time.sleep(0.01)
