"""The ledger: performs drafts, has every history examined, and counts what was done."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fsconform.oracles.anomalies import Anomaly, Examination
from fsconform.search.drafts import Draft
from fsconform.search.promises import Ruling, Standing
from fsconform.vocabulary.findings import Finding, SearchSummary
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.programs import Program

Perform = Callable[[Program, int], RoundHistory]
"""Performs a program for a number of rounds, each in a fresh directory."""


Examine = Callable[[RoundHistory], Examination]
"""Examines a widened history."""
Rule = Callable[[Anomaly, RoundHistory], Ruling]
"""Holds an anomaly of a widened history against the promises in force."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What makes two finds the same one."""

    kind: str
    property_id: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class Sight:
    """A fault seen in one message: a violation is a proof, so one round of it decides."""

    fault: Fault
    story: str
    draft: Draft
    history: RoundHistory
    """As measured, not widened."""
    shown: tuple[int, ...]
    """Rounds that show it, ascending."""
    guilty: tuple[tuple[int, int], ...] = ()
    """(lane, step) of what cannot be together in the first of them; empty where that is not known of it."""

    @property
    def rate(self) -> float:
        """Share of the rounds of this message that show it."""
        return len(self.shown) / max(1, self.history.rounds)

    def joined(self, other: Sight) -> Sight:
        """Both sights of one message; the story is that of the earlier round."""
        first = min(self, other, key=lambda sight: sight.shown[0])
        return replace(first, shown=tuple(sorted({*self.shown, *other.shown})))

    def events(self) -> tuple[dict[str, Any], ...]:
        """The events of the first round that shows it."""
        return self.history.witness_events(self.shown[0], self.guilty)


class HaltError(BaseException):
    """The budget is used up or somebody said stop. No `Exception`: Hypothesis must not take it for a failure."""


@dataclass(slots=True)
class Ledger:
    """Performs, examines, counts. `stop` is asked before every message; `deadline` is on `time.monotonic`, seconds."""

    perform: Perform
    examine: Examine
    rule: Rule
    seed: int
    stop: Callable[[], bool]
    deadline: float
    began: float = field(default_factory=time.monotonic)
    programs: int = 0
    rounds: int = 0
    contested: int = 0
    operations: int = 0
    undecided: int = 0
    opportunities: Counter[str] = field(default_factory=Counter)

    @property
    def over(self) -> bool:
        """Whether no further message may be sent."""
        return self.stop() or time.monotonic() >= self.deadline

    def try_draft(self, draft: Draft, rounds: int) -> tuple[Sight, ...]:
        """One message: everything it shows that is not allowed. Raises HaltError instead of beginning late."""
        if self.over:
            raise HaltError
        history = self.perform(draft.program(self.seed), rounds)
        sights: dict[Fault, Sight] = {}
        examinations = []
        for widened in history.widenings():
            examination = self.examine(widened)
            examinations.append(examination)
            for anomaly in examination.anomalies:
                ruling = self.rule(anomaly, widened)
                if not ruling.rounds:
                    continue
                fault = Fault(anomaly.kind, anomaly.property_id, ruling.standing)
                known = ruling.rounds[0] == anomaly.rounds[0]
                sight = Sight(
                    fault, anomaly.story, draft, history, ruling.rounds, anomaly.steps if known else ()
                )  # fmt: skip
                sights[fault] = sights[fault].joined(sight) if fault in sights else sight
        self._count(history, examinations)
        return tuple(sights.values())

    def _count(self, history: RoundHistory, examinations: Sequence[Examination]) -> None:
        contested, opportunities = self._proven(history, examinations)
        self.programs += 1
        self.rounds += history.rounds
        self.contested += contested
        self.operations += history.rounds * sum(
            step.kind != "barrier" for lane in history.program.lanes for step in lane.steps
        )
        self.undecided += min(examination.undecided for examination in examinations)
        self.opportunities.update(opportunities)

    def _proven(self, history: RoundHistory, widened: Sequence[Examination]) -> tuple[int, Mapping[str, int]]:
        """(rounds contested, opportunities) whatever the clocks' errors are.

        What needs an order is counted where widened events show it, what needs an overlap where narrowed ones do.
        """
        if not any(history.error_ns):
            return widened[0].contested, widened[0].opportunities
        narrowed = [self.examine(narrow) for narrow in history.narrowings()]
        proven: Counter[str] = Counter()
        for wide, narrow in zip(widened, narrowed, strict=True):
            proven |= Counter(wide.opportunities) & Counter(narrow.opportunities)
        return max(examination.contested for examination in narrowed), proven

    def summary(self, findings: tuple[Finding, ...]) -> SearchSummary:
        """What was done since the ledger was opened."""
        return SearchSummary(
            self.programs, self.rounds, self.contested, self.operations, time.monotonic() - self.began,
            self.undecided, dict(self.opportunities), findings,
        )  # fmt: skip
