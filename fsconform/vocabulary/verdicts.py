"""Verdicts: of a cell, and of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.promises import Promise


class Verdict(Enum):
    """`observed`: nothing promised, never good or bad."""

    KEPT = "kept"
    VIOLATED = "violated"
    OBSERVED = "observed"
    NOT_APPLICABLE = "n/a"
    INCONCLUSIVE = "inconclusive"


JUDGED = frozenset({Verdict.KEPT, Verdict.VIOLATED, Verdict.INCONCLUSIVE})


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and why, in one line; for `inconclusive` with what would settle it."""

    verdict: Verdict
    reason: str
    violations: int = 0
    """Trials that convict."""
    near_misses: int = 0
    """Trials with lo in (N, N + slack]."""
    unresolved: int = 0
    """Trials whose deciding look began late."""


@dataclass(frozen=True, slots=True)
class CellResult:
    """One row of a report."""

    cell: Cell
    topology: str
    promise: Promise
    observation: Observation
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        """The verdict of the judgement."""
        return self.judgement.verdict


EXIT_KEPT, EXIT_VIOLATED, EXIT_CANNOT_TEST, EXIT_FAULT, EXIT_INCONCLUSIVE, EXIT_INTERRUPTED = (
    0,
    1,
    2,
    3,
    4,
    130,
)
EXIT_WORDS = {
    EXIT_KEPT: "kept", EXIT_VIOLATED: "violated", EXIT_CANNOT_TEST: "could not test", EXIT_FAULT: "fault of fsconform",
    EXIT_INCONCLUSIVE: "inconclusive", EXIT_INTERRUPTED: "interrupted",
}  # fmt: skip


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Any violated -> violated; any judged inconclusive, or nothing judged -> inconclusive; else kept."""
    judged = [verdict for verdict in verdicts if verdict in JUDGED]
    if Verdict.VIOLATED in judged:
        return Verdict.VIOLATED
    if not judged or Verdict.INCONCLUSIVE in judged:
        return Verdict.INCONCLUSIVE
    return Verdict.KEPT


def exit_status(verdict: Verdict) -> int:
    """The exit status of a finished run."""
    return {Verdict.KEPT: EXIT_KEPT, Verdict.VIOLATED: EXIT_VIOLATED}.get(verdict, EXIT_INCONCLUSIVE)
