"""Where clocks stand to one another: intervals, never estimates.

Each worker stamps with its own CLOCK_MONOTONIC. A message that was sent at t (our clock) and heard at r (its clock)
says that `offset >= t - r`, offset being what must be added to its stamps; one sent at s (its clock) and heard at t
says that `offset <= t - s`. At another moment each bound is weaker by 500 ppm of the time between, the greatest rate
at which the kernel corrects a clock (adjtimex(2); MAXFREQ in RFC 5905, appendix A.1.1). The offset lies in the
intersection of all bounds; where that is empty the clock does what no sound clock does, and is called broken.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fsconform.vocabulary.histories import INF, UNKNOWN_ERROR, Ints

DRIFT_DIVISOR = 2000
"""1 / 500 ppm."""


@dataclass(frozen=True, slots=True)
class Shift:
    """What to add to stamps of one clock, ns, and the half-width of its error."""

    offset: int
    error: int
    fault: str = ""
    """Why nothing is known; then `error` is `UNKNOWN_ERROR`."""

    def of(self, stamp: int) -> int:
        """One stamp, moved; INF and negative ones ("did not happen") stay."""
        return stamp if stamp < 0 or stamp >= INF else stamp + self.offset

    def of_all(self, stamps: Ints) -> Ints:
        """An array of stamps, moved likewise."""
        moved: Ints = np.where((stamps < 0) | (stamps >= INF), stamps, stamps + self.offset)
        return moved


EXACT = Shift(0, 0)


class Envelope:
    """The least of upper bounds `bound + |t - at| / divisor` as a function of t. Bounds come in order of `at`, ns."""

    def __init__(self, bounds: Iterable[tuple[int, int]] = (), divisor: int = DRIFT_DIVISOR) -> None:
        self._divisor = divisor
        self.at: list[int] = []
        self.bound: list[int] = []
        for at, bound in bounds:
            self.add(at, bound)

    def add(self, at: int, bound: int) -> None:
        """One more bound. What another one implies is not kept, so that only neighbours matter later."""
        if self.at:
            at = max(at, self.at[-1])  # two threads may have stamped out of order, by microseconds
            if self.bound[-1] + self._drift(at - self.at[-1]) <= bound:
                return
            while self.at and bound + self._drift(at - self.at[-1]) <= self.bound[-1]:
                self.at.pop()
                self.bound.pop()
        self.at.append(at)
        self.bound.append(bound)

    def bounds(self, times: Ints) -> Ints:
        """The bound at each time; `INF` where there is none at all."""
        if not self.at:
            return np.full(times.shape, INF, dtype=np.int64)
        times = np.where(times < INF, times, 0)
        at, bound = np.array(self.at, dtype=np.int64), np.array(self.bound, dtype=np.int64)
        after = np.searchsorted(at, times)
        left, right = np.maximum(after - 1, 0), np.minimum(after, len(at) - 1)
        least: Ints = np.minimum(
            bound[left] - np.abs(times - at[left]) // -self._divisor,
            bound[right] - np.abs(times - at[right]) // -self._divisor,
        )
        return least

    def __len__(self) -> int:
        return len(self.at)

    def _drift(self, gap: int) -> int:
        """By how much a bound weakens in that time, rounded up."""
        return -(gap // -self._divisor)


def spanned(least: Ints, most: Ints, counts: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The interval of each row that holds for all of its entries that count; -INF, INF where none does."""
    lowest = np.where(counts, least, INF).min(axis=1, initial=INF)
    highest = np.where(counts, most, -INF).max(axis=1, initial=-INF)
    empty = ~counts.any(axis=1)
    return np.where(empty, -INF, lowest), np.where(empty, INF, highest)


def half_width(lowest: int, highest: int) -> int:
    """Of an interval of offsets, with its middle rounded to whole ns: on the safe side."""
    return (highest - lowest) // 2 + 2


def contradiction(what: str, gap_ns: int) -> str:
    """What an empty intersection means, in words; empty where it is none (`gap_ns` <= 0)."""
    if gap_ns <= 0:
        return ""
    return f"{what} broken: messages contradict each other by {gap_ns / 1e6:.3f} ms more than 500 ppm of drift allow"


class Clock:
    """The clock of one kernel and time namespace, as the messages of all workers there show it. Thread-safe."""

    def __init__(self, name: str, exact: bool = False) -> None:
        self.name = name
        """What it is called in a reason: `site b`."""
        self.exact = exact
        """Whether it is our own."""
        self._most = Envelope()
        self._least = Envelope()
        self._lock = threading.Lock()

    def sent_to(self, sent: int, heard: int) -> None:
        """A message was sent there at `sent` (our clock) and heard at `heard` (its clock), ns."""
        with self._lock:
            self._least.add(heard, heard - sent)

    def came_from(self, sent: int, heard: int) -> None:
        """A message was sent there at `sent` (its clock) and heard here at `heard` (our clock), ns."""
        with self._lock:
            self._most.add(sent, heard - sent)

    def interval(self, times: Ints) -> tuple[Ints, Ints]:
        """(least, most) offset at each time (its clock), ns; least > most where it is broken."""
        with self._lock:
            return -self._least.bounds(times), self._most.bounds(times)

    def shift(self, times: Ints) -> Shift:
        """One offset for events at these times (its clock), with an error that holds for each of them."""
        times = times[(times >= 0) & (times < INF)]
        if self.exact or not times.size:
            return EXACT
        least, most = self.interval(times)
        lowest, highest = int(least.min()), int(most.max())
        if fault := self._fault(least, most):
            return Shift((lowest + highest) // 2, UNKNOWN_ERROR, fault)
        return Shift((lowest + highest) // 2, half_width(lowest, highest))

    def _fault(self, least: Ints, most: Ints) -> str:
        """What is wrong with these intervals; empty where nothing is."""
        if (least <= -INF).any() or (most >= INF).any():
            return f"the clock of {self.name} is not known"
        return contradiction(f"the clock of {self.name} is", int((least - most).max()))

    def rows(self, times: Ints) -> tuple[Ints, Ints]:
        """(least, most) offset that holds for all times (its clock) of each row; times that are no stamps do not count.

        Rows without any stamp say nothing: -INF, INF.
        """
        counts = (times >= 0) & (times < INF)
        if self.exact:
            zero = np.zeros(len(times), dtype=np.int64)
            return zero, zero
        least, most = self.interval(times)
        return spanned(least, most, counts)

    def latest(self) -> Shift:
        """How it stands as far as the last message tells."""
        with self._lock:
            last = max((*self._least.at[-1:], *self._most.at[-1:]), default=-1)
        return self.shift(np.array([last], dtype=np.int64))

    def zero(self) -> tuple[int, int] | None:
        """When it read 0, ns on our clock, as (earliest, latest); None where that is not known."""
        shift = self.latest()
        return None if shift.fault else (shift.offset - shift.error, shift.offset + shift.error)
