"""The observing side of latency trials: one loop that primes, waits, looks tightly, and sweeps.

Per trial: prime, tell the acting side, wait for the change, look without a pause for its tight time. Between trials
and afterwards all pending trials are looked at in sweeps with a fixed gap between them. A trial that was hit is
looked at again, sparsely, until its time is over: a later miss is a flicker and moves the last miss.
Only extrema are kept: the invocations of the last look that missed and of the first hit after it.
"""

from __future__ import annotations

import errno
import heapq
import os
import time
from array import array
from typing import Any, Sequence

from fsconform.fleet.worker.barrier import CHANGED, FAILED, PRIMED, Aborted, Meeting, Place
from fsconform.fleet.worker.descriptors import Handles, Slots
from fsconform.fleet.worker.line import open_meeting
from fsconform.fleet.worker.loop import Score
from fsconform.fleet.worker.requests import Current, function
from fsconform.fleet.worker.steps import attempt, compile_step, decode
from fsconform.fleet.worker.watchdog import beat

NONE = -1
"""A stamp of something that did not happen."""
SPARSE_NS = 500_000_000
"""Between looks at what was hit already."""
PATIENCE_SHIFT = 8
"""A name that was missing for t is looked at again after t / 2**8 at the earliest: 0.4 % of its age, which is less
than half of the slack of any bound, and spares the names that are due the looks at those that are not."""
_NAP_NS = 2_000_000
_clock = time.monotonic_ns


class Subject:
    """One trial as its observer sees it. Field order of the wire as in `fleet.trials`."""

    def __init__(self, number: int, wire: "Sequence[Any]", meeting: Meeting) -> None:
        self.number = number
        look, want, acquaint, prime, before_look, after, *times = wire
        self.tight_ns, self._until_ns, self._give_up_ns, self.single_shot_ns = times
        self.slots = Slots()

        def score(wires: "Sequence[Any]") -> Score:
            return Score(wires, self.slots, meeting)

        self._look = compile_step(look, Handles(self.slots), meeting)
        self._want_errno, self._want_mask, self._want_value, self._unsound = want
        self.acquaint, self.prime_steps = score(acquaint), score(prime)
        self.before_look, self.after = score(before_look), score(after)
        self.prime_row = [NONE, NONE, 0, 0]
        self.last_miss = self.first_hit = self.last_look = NONE
        self.looks = self.flickers = self.longest_fill = self.value = self.detail = 0
        self.others: "dict[int, int]" = {}
        self.over = False
        self.due = 0
        self._seen = self._until = self._give_up = 0

    def prime(self) -> None:
        """Perform the priming steps; their result is the last one's, their time from the first to the last."""
        events = run_score(self.prime_steps)
        if events:
            self.prime_row = [events[0][0], events[-1][1], events[-1][2], events[-1][3]]

    def changed(self, seen: int) -> None:
        """The change was seen to have returned at `seen`: from here on the trial's time counts."""
        self._seen = seen
        self._until, self._give_up = seen + self._until_ns, seen + self._give_up_ns

    def look(self) -> None:
        """Look once and keep what it says."""
        invoked = _clock()
        result = attempt(self._look.call)
        returned = _clock()
        number, value, detail = decode(self._look, result)
        self.looks += 1
        self.last_look = invoked
        was_hit = self.first_hit != NONE
        if not was_hit:
            self.longest_fill = max(self.longest_fill, returned - invoked)
            self.value, self.detail = value, detail
        if number == self._want_errno and value & self._want_mask == self._want_value:
            self.due = invoked + SPARSE_NS if was_hit else 0
            if not was_hit:
                self.first_hit = invoked
        elif number == errno.ENOENT or (number == 0 and not value & self._unsound):
            self.last_miss = invoked
            self.due = invoked + (invoked - self._seen >> PATIENCE_SHIFT)
            if was_hit:
                self.flickers += 1
                self.first_hit = NONE
                self.value, self.detail = value, detail
        else:
            self.others[number] = self.others.get(number, 0) + 1
        end = self._give_up if self.first_hit == NONE else self._until
        self.due = min(self.due, end)
        self.over = invoked >= end

    def row(self) -> "list[int]":
        """What travels home, in the order of `fleet.trials`."""
        return [
            *self.prime_row, self.last_miss, self.first_hit, self.last_look, self.looks, self.flickers,
            self.longest_fill, self.value, self.detail,
        ]  # fmt: skip


def run_score(score: Score) -> "list[tuple[int, int, int, int, int]]":
    """Perform steps and decode them."""
    if score.steps:
        score.perform()
    return score.events()


class Observer:
    """The loop over all trials of a job."""

    def __init__(self, subjects: "Sequence[Subject]", meeting: Meeting, gap_ns: int) -> None:
        self.looks = 0
        self._hand = 0
        self._subjects = subjects
        self._meeting = meeting
        self._gap_ns = gap_ns
        self._pending: "list[Subject]" = []
        self._sweep: "list[Subject]" = []
        self._next_sweep = 0
        self._shots: "list[tuple[int, int]]" = []

    def run(self) -> str:
        """All trials; gives why it ended early."""
        reason = ""
        try:
            for number, subject in enumerate(self._subjects):
                self._begin(number, subject)
        except Aborted as ending:
            reason = str(ending)
        while (self._pending or self._sweep or self._shots) and not self._meeting.halted():
            if not self._pump():
                self._nap()
        return "halted" if self._meeting.halted() else reason

    def _begin(self, number: int, subject: Subject) -> None:
        """Prime, wait for the change, look tightly; what is left to see is left to the sweeps."""
        while self._sweep and not self._meeting.halted():
            self._pump()
        self._meeting.heed()
        self._hand = number
        subject.prime()
        self._meeting.signal(PRIMED, number + 1)
        self._meeting.wait(CHANGED, number + 1, self._pump)
        seen = _clock()
        if self._meeting.signalled(FAILED) == number + 1:
            return
        subject.changed(seen)
        if subject.single_shot_ns != NONE:
            heapq.heappush(self._shots, (seen + subject.single_shot_ns, number))
            return
        self._look(subject)
        while subject.first_hit == NONE and not subject.over and _clock() < seen + subject.tight_ns:
            self._look(subject)
        if not subject.over:
            self._pending.append(subject)

    def _look(self, subject: Subject) -> None:
        self._hand = subject.number
        subject.look()
        self.looks += 1

    def _pump(self) -> bool:
        """At most one look that is due; False where none is."""
        now = _clock()
        if self._shots and self._shots[0][0] <= now:
            subject = self._subjects[heapq.heappop(self._shots)[1]]
            run_score(subject.before_look)
            self._look(subject)
            return True
        if self._sweep:
            self._look(self._sweep.pop())
            if not self._sweep:
                self._next_sweep = _clock() + self._gap_ns
            return True
        if now >= self._next_sweep:
            self._pending = [subject for subject in self._pending if not subject.over]
            self._sweep = [subject for subject in reversed(self._pending) if subject.due <= now]
            self._next_sweep = now + self._gap_ns
        return bool(self._sweep)

    def _nap(self) -> None:
        """Sleep until something is due, 2 ms at most."""
        due = min(self._next_sweep, self._shots[0][0]) if self._shots else self._next_sweep
        left = min(due - _clock(), _NAP_NS)
        if left > 0:
            time.sleep(left / 1e9)
        beat()

    def progress(self) -> int:
        """Looks so far."""
        return self.looks

    def hung(self) -> "tuple[bytes, list[tuple[int, int, int]], str]":
        """What the watchdog sends home."""
        return (*self.rows(), "in trial {}".format(self._hand))

    def rows(self) -> "tuple[bytes, list[tuple[int, int, int]]]":
        """(12 numbers per trial, (trial, errno, count) of looks that were neither hit nor miss)."""
        rows = array("q", [number for subject in self._subjects for number in subject.row()])
        others = [
            (number, code, count)
            for number, subject in enumerate(self._subjects)
            for code, count in sorted(subject.others.items())
        ]
        return rows.tobytes(), others


PREPARED: "dict[int, list[Subject]]" = {}


@function("acquaint")
def acquaint(place: "Sequence[Any]", job: int, root: str, wires: "Sequence[Any]") -> None:
    """Perform the acquainting steps of all trials of a job. `observe` follows.

    Paths are relative to `root`, which stays the working directory: no ancestor of it is walked again.
    """
    os.chdir(root)
    meeting = open_meeting(Place(*place))
    subjects = PREPARED[job] = [Subject(number, wire, meeting) for number, wire in enumerate(wires)]
    for subject in subjects:
        meeting.heed()
        run_score(subject.acquaint)
        beat()


@function("observe")
def observe(place: "Sequence[Any]", job: int, gap_ns: int) -> "tuple[bytes, list[tuple[int, int, int]], str]":
    """(rows, looks that were neither hit nor miss, why it ended early); the `after` steps come at the very end."""
    subjects = PREPARED[job]
    observer = Observer(subjects, open_meeting(Place(*place)), gap_ns)
    Current.watchdog.begin(Current.deadline_s, observer.progress, observer.hung)
    reason = observer.run()
    for subject in subjects:
        run_score(subject.after)
        beat()
    forget(job)
    return (*observer.rows(), reason)


@function("forget subjects")
def forget(job: int) -> None:
    """Close what the trials of a job hold, and leave its directory."""
    os.chdir("/")
    for subject in PREPARED.pop(job, []):
        subject.slots.close_all()
