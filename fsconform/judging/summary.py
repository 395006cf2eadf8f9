"""Latency intervals of a cell in a few figures (docs/design.md, Time and experiments)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fsconform.judging.statistics import quantile_of, trials_for_quantile
from fsconform.vocabulary.observations import INF_NS, LatencyTrial, Observation

P99_TRIALS = trials_for_quantile(0.99)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Order statistics, seconds; None where the trial of that rank never saw the change, or n is too small."""

    n: int
    p50: float | None
    max: float | None
    p99: float | None = None
    """Only from 299 trials."""

    def to_json(self) -> dict[str, Any]:
        """`p50`, `max`, `n`, and `p99` where the trials suffice for it."""
        told: dict[str, Any] = {"p50": self.p50, "max": self.max, "n": self.n}
        return told if self.n < P99_TRIALS else {**told, "p99": self.p99}


@dataclass(frozen=True, slots=True)
class Interval:
    """Quantiles of the lower ends (what is proved) and of the upper ends (what is possible)."""

    lo: Quantiles
    hi: Quantiles

    def to_json(self) -> dict[str, Any]:
        """`lo` and `hi`."""
        return {"lo": self.lo.to_json(), "hi": self.hi.to_json()}


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """`since_change`: what users feel. `since_prime`: the age of the observer's cache entry, None if not primed."""

    since_change: Interval
    since_prime: Interval | None
    resolution: float | None
    """Widest interval of a trial, seconds (where no look missed: the largest delay of a first look)."""
    never: int
    """Trials that never saw the change."""
    flickers: int
    """Misses after a hit, over all trials."""

    def to_json(self) -> dict[str, Any]:
        """The `latency_s` object of report.json."""
        return {
            "since_change": self.since_change.to_json(),
            "since_prime": self.since_prime.to_json() if self.since_prime else None,
        }


def summarise_latency(observation: Observation) -> LatencySummary | None:
    """The figures of a latency cell; None where no trial was informative."""
    trials = observation.latency
    if not trials:
        return None
    seen = [trial.hi - trial.lo for trial in trials if trial.hi < INF_NS]
    return LatencySummary(
        _interval((trial.lo, trial.hi) for trial in trials),
        _since_prime(trials),
        max(seen) / 1e9 if seen else None,
        len(trials) - len(seen),
        sum(trial.flickers for trial in trials),
    )


def _since_prime(trials: Sequence[LatencyTrial]) -> Interval | None:
    primed = [
        (trial.since_prime_lo, trial.since_prime_hi)
        for trial in trials
        if trial.since_prime_lo is not None and trial.since_prime_hi is not None
    ]
    return _interval(primed) if primed else None


def _interval(ends: Iterable[tuple[int, int]]) -> Interval:
    lows, highs = zip(*ends, strict=True)
    return Interval(_quantiles(lows), _quantiles(highs))


def _quantiles(values: Iterable[int]) -> Quantiles:
    ordered = sorted(values)
    p99 = _seconds(quantile_of(ordered, 0.99)) if len(ordered) >= P99_TRIALS else None
    return Quantiles(len(ordered), _seconds(quantile_of(ordered, 0.5)), _seconds(ordered[-1]), p99)


def _seconds(value: int) -> float | None:
    return None if value >= INF_NS else value / 1e9
