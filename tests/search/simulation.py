"""A filesystem in virtual time with faults to switch on: performs programs without any process or file."""

from __future__ import annotations

import errno
import heapq
import random
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.histories import Ints, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.steps import Step

WATCH_GAP_NS = 100_000


@dataclass(frozen=True)
class Faults:
    """What is wrong with it. All zero: a correct filesystem."""

    two_winners: float = 0.0
    """Probability that an exclusive create that loses a race is told success."""
    torn: float = 0.0
    """Probability that a publish shows zeros for `torn_ns`."""
    torn_ns: int = 40_000
    negative_ttl_ns: int = 0
    """For how long a site believes that a name is missing."""


@dataclass
class Entry:
    """One file under a name."""

    created: float
    size: int = 0
    zero_until: float = 0.0


@dataclass
class Disk:
    """The state of one round."""

    faults: Faults
    dice: random.Random
    files: dict[str, Entry] = field(default_factory=dict)
    missing: dict[tuple[str, str], float] = field(default_factory=dict)
    """(site, path) -> when the negative entry expires."""
    slots: dict[tuple[int, int], Entry] = field(default_factory=dict)

    def perform(self, step: Step, lane: int, site: str, invoked: float, now: float) -> tuple[int, int]:
        """(errno, value) of a step that takes effect now."""
        if step.kind in ("stat", "open_read"):
            return self.look(step, site, now)
        if step.kind == "scandir":
            seen = [f"{step.path}/{name}" in self.files for name in step.names]
            return 0, sum(1 << place for place, there in enumerate(seen) if there)
        return self.change(step, lane, site, invoked, now)

    def look(self, step: Step, site: str, now: float) -> tuple[int, int]:
        entry = self.files.get(step.path)
        believed = self.missing.get((site, step.path), 0.0) > now
        if entry is None or believed:
            if not believed:
                self.missing[site, step.path] = now + self.faults.negative_ttl_ns
            return errno.ENOENT, 0
        if step.kind == "stat":
            return 0, entry.size
        if now < entry.zero_until:
            return 0, int(Content.ZERO)
        return 0, int(Content.EXACT if entry.size == step.size else Content.SHORT)

    def change(self, step: Step, lane: int, site: str, invoked: float, now: float) -> tuple[int, int]:
        slot = (lane, step.fd)
        if step.kind in ("write", "close") and slot not in self.slots:
            return errno.EBADF, 0
        if step.kind == "write":
            self.slots[slot].size = step.size
            return 0, step.size
        if step.kind == "close":
            del self.slots[slot]
            return 0, 0
        if step.kind == "unlink":
            return (0, 0) if self.files.pop(step.path, None) else (errno.ENOENT, 0)
        if step.kind == "rename":
            self.appear(step.other, self.files.pop(step.path), site, now)
            return 0, 0
        target = step.other or step.path
        if target in self.files and not self.wins_too(self.files[target], invoked):
            return errno.EEXIST, 0
        if step.kind == "link":
            self.appear(target, Entry(now, self.files[step.path].size), site, now)
        else:
            self.slots[slot] = self.files[target] = Entry(now)
            self.missing.pop((site, target), None)
        return 0, 0

    def wins_too(self, entry: Entry, invoked: float) -> bool:
        return entry.created > invoked and self.dice.random() < self.faults.two_winners

    def appear(self, path: str, entry: Entry, site: str, now: float) -> None:
        torn = self.dice.random() < self.faults.torn
        self.files[path] = Entry(now, entry.size, now + self.faults.torn_ns if torn else 0.0)
        self.missing.pop((site, path), None)


class SimulatedFilesystem:
    """Performs programs; the same seed gives the same results for the same calls in the same order."""

    def __init__(self, seed: int, faults: Faults = Faults()) -> None:
        self.faults, self.dice = faults, random.Random(seed)
        self.performed: list[tuple[Program, int]] = []

    def perform(self, program: Program, rounds: int) -> RoundHistory:
        """R rounds in virtual time."""
        self.performed.append((program, rounds))
        columns = [np.zeros((5, rounds, len(lane.steps)), np.int64) for lane in program.lanes]
        for number in range(rounds):
            self._round(program, number, columns)
        return RoundHistory(program, tuple(LaneColumns(*column) for column in columns), (0,) * len(program.lanes))

    def _round(self, program: Program, number: int, columns: list[Ints]) -> None:
        dice, disk = self.dice, Disk(self.faults, self.dice)
        start = 1_000_000_000 * number
        at = [0] * len(program.lanes)
        invoked = [start + dice.randrange(3_000) for _ in program.lanes]
        waiting: dict[int, int] = {}
        events: list[tuple[int, int, int]] = []

        def begin(lane: int) -> None:
            steps = program.lanes[lane].steps
            if at[lane] == len(steps):
                return
            if steps[at[lane]].kind == "barrier":
                waiting[lane] = invoked[lane]
                if len(waiting) == len(program.lanes):
                    release()
                return
            took = dice.randrange(2_000, 12_000)
            heapq.heappush(events, (invoked[lane] + dice.randrange(500, took), lane, invoked[lane] + took))

        def release() -> None:
            latest = max(waiting.values())
            waiting.clear()
            for lane in range(len(program.lanes)):
                finish(lane, 0, 0, latest + dice.randrange(1_000), False)
            for lane in range(len(program.lanes)):
                begin(lane)

        def finish(lane: int, code: int, value: int, returned: int, go_on: bool = True) -> None:
            columns[lane][:, number, at[lane]] = (invoked[lane], returned, code, value, 0)
            at[lane] += 1
            invoked[lane] = returned + dice.randrange(50, 500)
            if go_on:
                begin(lane)

        for lane in range(len(program.lanes)):
            begin(lane)
        while events:
            now, lane, end = heapq.heappop(events)
            step = program.lanes[lane].steps[at[lane]]
            look = step.then or step
            code, value = disk.perform(look, lane, program.lanes[lane].site, invoked[lane], now)
            wrong = code == 0 and value != int(Content.EXACT)
            if step.kind == "watch" and not wrong and now < invoked[lane] + step.arg:
                heapq.heappush(events, (now + WATCH_GAP_NS, lane, now + WATCH_GAP_NS + 1_000))
                continue
            if step.kind == "watch":  # stamped as the decisive look, which began shortly before
                invoked[lane] = max(invoked[lane], now - 1_000)
            finish(lane, code, value, end)


CORRECT = Faults()
BROKEN = MappingProxyType(
    {
        "two-winners, 0.1": Faults(two_winners=0.1),
        "two-winners, 0.02": Faults(two_winners=0.02),
        "torn": Faults(torn=0.3, torn_ns=20_000),
        "stale": Faults(negative_ttl_ns=5_000_000),
    }
)
