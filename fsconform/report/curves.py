"""Latency curves: which share of the trials had not seen the change, over the time since it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsconform.vocabulary.observations import INF_NS, LatencyTrial

MOST = 60
"""Steps of a drawn curve: more cannot be told apart. Each of 1,000 trials moves it by less than a pixel."""
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Curve:
    """Order statistics of the trials of one cell, seconds since the change, ascending, at most `MOST` of each.

    A trial of rank k of n had certainly not seen the change at `lo[k]`, and had seen it by `hi[k]` (`NEVER` where it
    did not while watched). `watched` is for how long the last look of any trial reached.
    """

    lo: tuple[float, ...]
    hi: tuple[float, ...]
    watched: float

    @property
    def missed(self) -> bool:
        """Whether any look after the change missed it."""
        return bool(self.lo) and self.lo[-1] > 0

    def unseen(self, at: float) -> tuple[float, float]:
        """Shares of the trials that had certainly, and that had possibly, not seen the change at that time."""
        return tuple(1 - bisect_right(ends, at) / max(1, len(ends)) for ends in (self.lo, self.hi))  # type: ignore[return-value]

    def to_json(self) -> dict[str, object]:
        """`curve` of report.json; null for `NEVER`."""
        high = [None if end == NEVER else end for end in self.hi]
        return {"lo_s": list(self.lo), "hi_s": high, "watched_s": self.watched}


def curve_of(trials: Sequence[LatencyTrial]) -> Curve | None:
    """The curve of a latency cell; None without trials."""
    if not trials:
        return None
    return Curve(
        _ranked(trial.lo for trial in trials), _ranked(trial.hi for trial in trials),
        max(trial.last for trial in trials) / 1e9,
    )  # fmt: skip


def _ranked(ends_ns: Iterable[int]) -> tuple[float, ...]:
    ordered = sorted(ends_ns)
    last = len(ordered) - 1
    chosen = ordered if last < MOST else [ordered[round(rank * last / (MOST - 1))] for rank in range(MOST)]
    return tuple(NEVER if end >= INF_NS else end / 1e9 for end in chosen)
