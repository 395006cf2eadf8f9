"""Verdicts per application, as people read them: what each store can expect, why, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconform.report.escaping import visible
from fsconform.vocabulary.applications import SEVERITY, ApplicationVerdict, Safety

APPLICATION_STYLES = {
    Safety.SAFE: "green", Safety.SAFE_WITHIN: "green", Safety.WASTES_WORK: "yellow", Safety.UNSAFE: "bold red",
    Safety.CANNOT_RUN: "bold red", Safety.UNDECIDED: "yellow",
}  # fmt: skip
_ORDER = (*reversed(SEVERITY), Safety.UNDECIDED)


@dataclass(frozen=True, slots=True)
class ApplicationRow:
    """One store. All texts are printable, one line each."""

    safety: Safety
    verdict: str
    title: str
    why: str
    deciding: str
    cure: str
    evidence: str


def application_rows(verdicts: Sequence[ApplicationVerdict]) -> tuple[ApplicationRow, ...]:
    """Worst first."""
    ranked = sorted(verdicts, key=lambda verdict: _ORDER.index(verdict.safety))
    return tuple(
        ApplicationRow(verdict.safety, str(verdict), visible(verdict.title), visible(_why(verdict)),
                       visible(verdict.deciding), visible(verdict.cure), verdict.evidence)
        for verdict in ranked
    )  # fmt: skip


def _why(verdict: ApplicationVerdict) -> str:
    if verdict.safety is Safety.UNDECIDED and verdict.deciding:
        return f"{verdict.why} (at best {verdict.within_s:g} s); not decided: {', '.join(verdict.untested)}"
    return verdict.why
