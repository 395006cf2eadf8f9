"""Promises: what a profile says a filesystem keeps, with where it says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Strength(Enum):
    """The kinds of promise (docs/design.md, Promises, verdicts)."""

    GUARANTEED = "guaranteed"
    WITHIN = "within"
    NOT_PROMISED = "not promised"
    OPTIONAL = "optional"
    UNSUPPORTED = "unsupported"


class Evidence(Enum):
    """Where a promise comes from: read in a source, derived from sources, or observed on a real mount."""

    SOURCE = "source"
    DERIVED = "derived"
    OBSERVED = "observed"


class BoundOrigin(Enum):
    """Where the N of a bound comes from: the mount itself, its options, or a default."""

    READ = "read"
    COMPUTED = "computed"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Bound:
    """The N of a promise `within N s`."""

    name: str
    seconds: float
    origin: BoundOrigin
    note: str = ""
    """Where the figure was found, e.g. `usr.negative_timeout of 3fs-virt/get-conf`."""
    usual_s: float | None = None
    """The figure that is met where something changed lately, below `seconds`; None where there is none."""


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise as it applies to one cell. `bound` only where `strength` is WITHIN, `errnos` only UNSUPPORTED."""

    strength: Strength
    evidence: Evidence
    source: str
    bound: Bound | None = None
    errnos: tuple[str, ...] = ()
    slack_s: float | None = None
    """What the profile says instead of the computed slack, seconds."""
    note: str = ""

    @property
    def bound_s(self) -> float:
        """N in seconds; 0 for a guarantee."""
        return self.bound.seconds if self.bound else 0.0

    def __str__(self) -> str:
        """`within 5 s (negative, assumed)`, `unsupported(EINVAL)`, `guaranteed`."""
        if self.strength is Strength.WITHIN and self.bound:
            return f"within {self.bound.seconds:g} s ({self.bound.name}, {self.bound.origin.value})"
        if self.strength is Strength.UNSUPPORTED:
            return f"unsupported({'|'.join(self.errnos)})"
        return str(self.strength.value)
