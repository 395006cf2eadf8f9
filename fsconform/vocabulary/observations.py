"""Observations: what the trials of a cell showed, before anybody holds it against a promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

INF_NS = 1 << 62


@dataclass(frozen=True, slots=True)
class LatencyTrial:
    """One trial of a latency cell, ns. lo convicts, hi acquits.

    `lo`: invocation of the last look that missed, minus return of the change (0 where none missed).
    `hi`: invocation of the first hit after it, minus return of the change (0 where it began before the change
    returned; INF_NS where never). `since_prime_*`: the same two looks since the priming look, None where the
    observer was not primed. `last` is when the last look of the trial began, since the change.
    """

    lo: int
    hi: int
    last: int
    since_prime_lo: int | None = None
    since_prime_hi: int | None = None
    flickers: int = 0
    """Misses after a hit."""


@dataclass(frozen=True, slots=True)
class Cure:
    """What happened to names on which something was tried, beside untouched controls of the same age."""

    name: str
    cured: int
    trials: int
    control_visible: int
    control_trials: int
    read_only: bool
    """False where the cure has a side effect on the filesystem."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The events and the program that show a violation."""

    program: Mapping[str, Any]
    """`Program.to_json()`, or a description of the trial for latency cells."""
    events: tuple[Mapping[str, Any], ...]
    story: str
    """One line in words: expected, got."""
    trials: int = 0
    """How many trials had been made when the first violation showed, that one included; 0: not known."""
    after_ns: int = 0
    """From the beginning of the first trial to the look that showed the first violation."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the trials of one cell showed.

    A cell is about latency (`latency` filled, one entry per informative trial), about support (`refused` filled or
    not), or about rounds (`violations` of `informative`). `outcomes` counts every trial once, in words.
    """

    attempted: int
    informative: int
    violations: int = 0
    """Trials that break a *guarantee* of this property (latency cells: look invoked after return that missed)."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    latency: tuple[LatencyTrial, ...] = ()
    longest_fill_ns: int = 0
    """The longest look at this site in this cell that may have filled a cache (part of the slack)."""
    refused: str = ""
    """errno name with which the call was refused; `works` where it worked; empty where support is no question."""
    cures: tuple[Cure, ...] = ()
    single_shot: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Delay in seconds as text -> (hits, looks) of observers that looked only once."""
    witness: Witness | None = None
    reason: str = ""
    """Why informative trials are missing (a site lost, no overlap), in words."""

    @property
    def kind(self) -> str:
        """`latency`, `support` or `rounds`."""
        return "latency" if self.latency else "support" if self.refused else "rounds"
