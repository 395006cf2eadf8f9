"""What the search found, and how much it looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Witness


@dataclass(frozen=True, slots=True)
class Finding:
    """One outcome that must not happen, with the smallest program that showed it."""

    kind: str
    """`two-winners`, `torn`, ...: one word, the oracle's."""
    property_id: str
    """The property that it breaks."""
    story: str
    """Expected, got: one line."""
    witness: Witness
    failures: int
    """Rounds of the fresh batch of the smallest program in which it showed."""
    rounds: int
    """Rounds of that batch."""
    promised: bool
    """Whether the profile promises the property (otherwise the finding is `observed`)."""
    history: RoundHistory | None = None
    """Of the message that showed it in the smallest program."""

    @property
    def rate(self) -> str:
        """How often the fresh batch showed it, in words."""
        if self.failures:
            return f"{self.failures:,} of {self.rounds:,} rounds"
        return f"seen, and not again in {self.rounds:,} rounds"


def finding_names(findings: Sequence[Finding]) -> tuple[str, ...]:
    """What each is called where findings have names: `search: two-winners`, `search: two-winners (2)`."""
    seen: Counter[str] = Counter()
    names = []
    for finding in findings:
        seen[finding.kind] += 1
        again = f" ({seen[finding.kind]})" if seen[finding.kind] > 1 else ""
        names.append(f"search: {finding.kind}{again}")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class SearchSummary:
    """How much the search did. Rates are per round; `contested` rounds had calls that truly overlapped."""

    programs: int = 0
    rounds: int = 0
    contested: int = 0
    operations: int = 0
    seconds: float = 0.0
    undecided: int = 0
    opportunities: Mapping[str, int] | None = None
    """Property -> how often an oracle could have found something."""
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The `search` object of report.json."""
        return {
            "programs": self.programs, "rounds": self.rounds, "contested": self.contested,
            "operations": self.operations, "seconds": round(self.seconds, 3), "undecided": self.undecided,
            "opportunities": dict(self.opportunities or {}),
            "findings": [
                {
                    "kind": finding.kind, "property": finding.property_id, "story": finding.story,
                    "failures": finding.failures, "rounds": finding.rounds, "promised": finding.promised,
                    "program": dict(finding.witness.program), "events": [dict(e) for e in finding.witness.events],
                }
                for finding in self.findings
            ],
        }  # fmt: skip
