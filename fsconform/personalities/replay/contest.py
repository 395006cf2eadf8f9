"""Two instances that store the same blocks in step: before each block, at the opening of its temporary file, and once
more when both have tried to open it. So both are past the look for the block before either has it, and the one that
opened the file cannot publish it before the other one has tried.
"""

from __future__ import annotations

import time

from fsconform.fleet.worker.barrier import Meeting
from fsconform.personalities.replay.tape import Tape
from fsconform.personalities.replay.tier import Tier

BEFORE, OPENING, OPENED, POINTS = 0, 1, 2, 3
_OVER = 1 << 20
_PATIENCE_NS = 500_000_000
"""How long one waits for the other; one that skipped a block or failed does not come."""


_NAP_S = 20e-6


class Contest:
    """One side of it. `side`: 0 or 1; each job has a word of its own per side, which counts the points passed."""

    def __init__(self, tier: Tier, meeting: Meeting, side: int) -> None:
        self._tier = tier
        self._meeting = meeting
        self._side = side
        self._places = {
            block: (job, place) for job, blocks in enumerate(tier.job_blocks()) for place, block in enumerate(blocks)
        }
        self._ends = {block: len(blocks) for blocks in tier.job_blocks() for block in blocks}

    def store(self) -> None:
        """Store everything."""
        hooks = self._tier.trace.hooks
        hooks.update({
            "open-temp": self._opening, "open-final": self._opening, "write": self._opened,
        })  # fmt: skip
        try:
            self._tier.store(self._tier.job_blocks(), self._work)
        finally:
            hooks.clear()

    def _work(self, tape: Tape, block: int) -> int:
        job, place = self._places[block]
        self._meet(block, BEFORE)
        try:
            count = self._tier.store_block(tape, block)
        except OSError:
            self._signal(job, _OVER)  # the job ends here: nobody need wait for this side any more
            raise
        if place + 1 == self._ends[block]:
            self._signal(job, _OVER)
        return count

    def _opening(self, tape: Tape) -> None:
        if tape.block in self._places:
            self._meet(tape.block, OPENING)

    def _opened(self, tape: Tape) -> None:
        if tape.block in self._places:
            self._meet(tape.block, OPENED)

    def _meet(self, block: int, point: int) -> None:
        job, place = self._places[block]
        value, start = POINTS * place + point + 1, time.monotonic_ns()
        self._signal(job, value)
        other = 2 * job + 1 - self._side
        while self._meeting.signalled(other) < value and time.monotonic_ns() - start < _PATIENCE_NS:
            time.sleep(_NAP_S)

    def _signal(self, job: int, value: int) -> None:
        self._meeting.signal(2 * job + self._side, value)
