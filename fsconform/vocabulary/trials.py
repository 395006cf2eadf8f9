"""Trials of latency experiments: one change at one site, looks at it from another, on a name of its own."""

from __future__ import annotations

from dataclasses import dataclass

from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.steps import Step


@dataclass(frozen=True, slots=True)
class Want:
    """What a look must return to be a hit: `errno` and, under `mask`, `value`.

    Any other result that succeeded or was ENOENT is a miss; other errno are neither, and counted apart. So is a success
    whose `value` has a bit of `unsound`: a torn read is no old version (content looks: 0xFF, exact is 0).
    """

    errno: int = 0
    mask: int = 0
    value: int = 0
    unsound: int = 0

    def hit(self, errno: int, value: int) -> bool:
        """Whether a result is a hit."""
        return errno == self.errno and value & self.mask == self.value


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial. Paths of all steps are relative to the run's directory at the site that performs them.

    Order: all `seed` steps of all trials at the acting site, then all `acquaint` steps at the observer, then the
    settling time; then, per trial and at once: `prime` at the observer, `change` at the acting site, looks.
    """

    cell: Cell
    number: int
    look: Step
    want: Want
    change: tuple[Step, ...]
    moment: int = -1
    """Index of the step of `change` whose return is the moment of the change."""
    seed: tuple[Step, ...] = ()
    acquaint: tuple[Step, ...] = ()
    prime: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    """At the observer when the trial is over (closing descriptors)."""
    tight_ns: int = 1_000_000
    """How long to look without a pause right after the change."""
    until_ns: int = 0
    """How long after the change to keep looking after a hit, sparsely (a later miss is a flicker)."""
    give_up_ns: int = 0
    """How long after the change to wait for the first hit; 0: no longer than `until_ns`."""
    single_shot_ns: int | None = None
    """Look once only, this long after the change was seen to have returned, instead of watching."""
    before_look: tuple[Step, ...] = ()
    """A cure, performed at the observer right before a single-shot look."""
    label: str = ""
    """`watch`, `shot 0.1`, `cure open`, `control open`: what the trial is for."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What one trial gave. All stamps ns on the common axis; None where it did not happen."""

    trial: Trial
    change_invoked: int | None
    change_returned: int | None
    change_errno: int
    """First errno of the change that was not 0."""
    prime_invoked: int | None
    prime_returned: int | None
    prime_errno: int
    prime_value: int
    last_miss: int | None
    """Invocation of the last look that missed."""
    first_hit: int | None
    """Invocation of the first hit after the last miss."""
    last_look: int | None
    looks: int
    flickers: int
    longest_fill_ns: int
    """Longest look that may have filled a cache: the longest one up to and including the first hit."""
    others: tuple[tuple[int, int], ...] = ()
    """(errno, count) of looks that were neither hit nor miss."""
    value: int = 0
    """`value` of the first hit, or of the last look where there was none."""
    detail: int = 0
    error_ns: int = 0
    """Half-width of the clock error between the acting and the observing site."""
    lost: str = ""
    """Why the trial could not be finished (a worker hung or lost)."""
    clock_fault: str = ""
    """Why the two sites' clocks cannot be compared; `error_ns` means nothing then."""
