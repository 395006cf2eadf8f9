"""Meeting points in a page of memory that all workers of one host share; never the filesystem under test.

The page is a memory file of the controller, opened through /proc/<controller>/fd/<n>, or, in guests of User-Mode Linux,
a file of their host that they map through /dev/mmapper. It holds 64-bit words: word 0
counts halts, word 1 is a token; each job has a region of its own: an abort word, one word per lane, and words for
`wait` and `signal`.
Measured on two cores: a word that all lanes poll with sched_yield between two looks lets 97-100 % of short calls
overlap; starting at an agreed time 0-0.5 % (sleeping) or 43 % (sleeping, then spinning).
"""

from __future__ import annotations

import mmap
import os
import time
from typing import Callable, NamedTuple, Optional

from fsconform.fleet.worker.watchdog import beat

HALT_WORD, TOKEN_WORD = 0, 1
REGIONS = 64
"""How many jobs may run at once."""
REGION_WORDS = 128
PAGE_WORDS = (REGIONS + 1) * REGION_WORDS
ABORT_WORD, FIRST_LANE, FIRST_SIGNAL = 0, 1, 64
LANES = FIRST_SIGNAL - FIRST_LANE
SIGNALS = REGION_WORDS - FIRST_SIGNAL
PRIMED, CHANGED, FAILED = SIGNALS - 1, SIGNALS - 2, SIGNALS - 3
"""Words of trials: how many are primed, how many are changed, the last one whose change failed."""
_ROUND = 1 << 24
_EAGER_MEETING_NS, _EAGER_WAIT_NS = 20_000_000, 200_000
"""How long to poll without naps: lanes must leave a meeting together; a wait only costs others the processor."""
_NAP_S = 50e-6


class Aborted(Exception):  # noqa: N818 - a condition of a job, not an error
    """A wait was ended: the job was halted, a partner is lost, or the deadline of the wait passed."""


class Place(NamedTuple):
    """Where a job meets its partners."""

    region: int
    """First word of its region."""
    lane: int
    lanes: int
    halts: int
    """Value of the halt word when the job was sent: any other value stops it."""
    patience_s: float
    """Deadline of every wait."""
    seat: int = 0
    """Number of the lane among those of its host."""
    neighbours: int = 0
    """How many lanes are on its host; 0: all."""
    by_line: bool = False
    """Whether the lanes share no memory and meet through the controller (`fleet.worker.line`)."""


class Page:
    """The shared words."""

    def __init__(self) -> None:
        self.words: "memoryview[int]" = memoryview(bytearray(8 * PAGE_WORDS)).cast("q")

    def attach(self, path: str, token: int) -> bool:
        """Map the memory file at `path`; False where there is none or it is another one (another host)."""
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:
            return False
        try:
            words = memoryview(mmap.mmap(descriptor, 8 * PAGE_WORDS)).cast("q")
        except (OSError, ValueError):  # not a memory file, or too small for it
            return False
        finally:
            os.close(descriptor)
        if words[TOKEN_WORD] != token:
            return False
        self.words = words
        return True


PAGE = Page()


class Meeting:
    """One job's view of its region."""

    def __init__(self, place: Place, words: "Optional[memoryview[int]]" = None) -> None:
        self._words = PAGE.words if words is None else words
        self._place = place
        self._mine = place.region + FIRST_LANE + place.lane
        first = place.region + FIRST_LANE
        self._others = [first + lane for lane in range(place.lanes) if lane != place.lane]
        # Where every processor has two lanes or more a spinning lane keeps another from coming: 600 rounds/s with
        # yields alone, 3,300 with a nap now and then (four lanes on two processors, 75 and 83 % contested).
        self._crowded = (place.neighbours or place.lanes) >= 2 * len(os.sched_getaffinity(0))
        self._generation = 0
        self._base = 0

    def begin_round(self, number: int) -> None:
        """Words of earlier rounds count as not signalled."""
        self._base = (number + 1) * _ROUND

    def meet(self) -> None:
        """Wait until every lane has come here. Raises Aborted."""
        self._generation += 1
        generation, words = self._generation, self._words
        words[self._mine] = generation
        yield_processor = os.sched_yield
        for other in self._others:
            polls = 0
            start = time.monotonic_ns()
            while words[other] < generation:
                yield_processor()
                polls += 1
                if not polls & 31:
                    self._check(start, _EAGER_MEETING_NS)
                    if self._crowded:
                        time.sleep(0)

    def signal(self, number: int, value: int) -> None:
        """Set word `number`."""
        self._words[self._place.region + FIRST_SIGNAL + number] = self._base + value

    def signalled(self, number: int) -> int:
        """The value of word `number` in this round, 0 where it was not signalled yet."""
        return max(0, self._words[self._place.region + FIRST_SIGNAL + number] - self._base)

    def wait(self, number: int, value: int, idle: "Callable[[], bool]" = lambda: False) -> None:
        """Wait until word `number` is at least `value`; `idle` may do a little work and tells whether it did.

        Raises Aborted.
        """
        word, wanted = self._place.region + FIRST_SIGNAL + number, self._base + value
        words, start = self._words, time.monotonic_ns()
        while words[word] < wanted:
            if not idle():
                os.sched_yield()
                self._check(start, _EAGER_WAIT_NS)

    def sleep(self, duration_ns: int) -> None:
        """Sleep in short pieces. Raises Aborted."""
        end = time.monotonic_ns() + duration_ns
        while True:
            left = end - time.monotonic_ns()
            if left <= 0:
                return
            time.sleep(min(left, 50_000_000) / 1e9)
            beat()
            self.heed()

    def halted(self) -> bool:
        """Whether the controller wants this job to stop now."""
        return self._words[HALT_WORD] != self._place.halts

    def abandoned(self) -> bool:
        """Whether a partner is lost."""
        return self._words[self._place.region + ABORT_WORD] != 0

    def heed(self) -> None:
        """Raises Aborted where the job is to stop."""
        if self.halted():
            raise Aborted("halted")
        if self.abandoned():
            raise Aborted("a partner was lost")

    def _check(self, start: int, eager_ns: int) -> None:
        """Between two polls: show that we live, stop if told so, stop eating the processor after a while."""
        beat()
        self.heed()
        waited = time.monotonic_ns() - start
        if waited > self._place.patience_s * 1e9:
            raise Aborted("partners did not come within {:g} s".format(self._place.patience_s))
        if waited > eager_ns:
            time.sleep(_NAP_S)
