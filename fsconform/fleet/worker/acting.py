"""The acting side of latency trials: per trial wait until the observer has primed, change, say so."""

from __future__ import annotations

import os
from array import array
from typing import Any, Sequence

from fsconform.fleet.worker.barrier import CHANGED, FAILED, PRIMED, Aborted, Meeting, Place
from fsconform.fleet.worker.descriptors import Slots
from fsconform.fleet.worker.line import open_meeting
from fsconform.fleet.worker.loop import Score
from fsconform.fleet.worker.requests import Current, function
from fsconform.fleet.worker.watchdog import beat

NONE = -1
"""A stamp of something that did not happen."""


class Act:
    """One trial as its acting site sees it."""

    def __init__(self, seed: "Sequence[Any]", change: "Sequence[Any]", moment: int) -> None:
        self.change = change
        self.moment = moment % len(change)
        self.slots = Slots()
        self.seed_failure = (NONE, 0)
        """(number of the first seed step that failed, its errno)."""
        self.row = [NONE, NONE, 0]
        """change invoked, moment of the change returned, first errno of the change."""
        self._seed = seed

    def plant(self, meeting: Meeting) -> None:
        """Perform the seed steps."""
        seeding = Score(self._seed, self.slots, meeting)
        seeding.perform()
        for number, event in enumerate(seeding.events()):
            if event[2] and self.seed_failure[0] == NONE:
                self.seed_failure = (number, event[2])

    def perform(self, meeting: Meeting, number: int) -> None:
        """Change when the observer is ready, and tell it right after the moment of the change."""
        until_moment = Score(self.change[: self.moment + 1], self.slots, meeting)
        rest = Score(self.change[self.moment + 1 :], self.slots, meeting)
        meeting.wait(PRIMED, number + 1)
        if self.seed_failure[0] == NONE:
            until_moment.perform()
            events = until_moment.events()
            self.row = [events[0][0], events[-1][1], _first_error(events)]
        failed = self.seed_failure[0] != NONE or self.row[2] != 0
        if failed:
            meeting.signal(FAILED, number + 1)
        meeting.signal(CHANGED, number + 1)
        if not failed:
            rest.perform()
            self.row[2] = _first_error(rest.events())
        beat()


def _first_error(events: "Sequence[tuple[int, ...]]") -> int:
    return next((event[2] for event in events if event[2]), 0)


PREPARED: "dict[int, list[Act]]" = {}


@function("seed")
def seed(place: "Sequence[Any]", job: int, root: str, wires: "Sequence[Any]") -> None:
    """Perform the seed steps of all trials of a job: (seed, change, moment) each. `act` follows.

    Paths are relative to `root`, which stays the working directory: no ancestor of it is walked again.
    """
    os.chdir(root)
    meeting = open_meeting(Place(*place))
    acts = PREPARED[job] = [Act(*wire) for wire in wires]
    for act in acts:
        meeting.heed()
        act.plant(meeting)
        beat()


@function("act")
def act_all(place: "Sequence[Any]", job: int) -> "tuple[bytes, list[tuple[int, int, int]], str]":
    """(rows of 3 numbers per trial, (trial, seed step, errno) of failed seeds, why it ended early)."""
    meeting, acts, reason = open_meeting(Place(*place)), PREPARED[job], ""

    def report() -> "tuple[bytes, list[tuple[int, int, int]], str]":
        """`reason` is for the watchdog: which trial it is that hangs."""
        rows = array("q", [number for act in acts for number in act.row])
        failures = [(number, *act.seed_failure) for number, act in enumerate(acts) if act.seed_failure[0] != NONE]
        return rows.tobytes(), failures, reason

    Current.watchdog.begin(Current.deadline_s, None, report)
    try:
        for number, act in enumerate(acts):
            reason = "in trial {}".format(number)
            act.perform(meeting, number)
        reason = ""
    except Aborted as ending:
        reason = str(ending)
    forget(job)
    return report()


@function("forget acts")
def forget(job: int) -> None:
    """Close what the trials of a job hold, and leave its directory."""
    os.chdir("/")
    for act in PREPARED.pop(job, []):
        act.slots.close_all()
