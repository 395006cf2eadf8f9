"""The hunt: Hypothesis draws programs, the fleet performs them, oracles examine them, finds are reduced."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fsconform.search.budgets import Budget
from fsconform.search.drafts import Draft
from fsconform.search.drawing import draw_programs
from fsconform.search.encoding import Ground, decode_draft
from fsconform.search.finds import make_finding
from fsconform.search.ledger import Examine, Fault, HaltError, Ledger, Perform, Rule, Sight
from fsconform.search.stickiness import StickyVerdicts
from fsconform.search.violations import ViolationError
from fsconform.vocabulary.findings import Finding, SearchSummary


class HuntCut(KeyboardInterrupt):
    """Ctrl-C during a hunt; `summary` is what it had by then, catches not reduced any further."""

    def __init__(self, summary: SearchSummary) -> None:
        super().__init__()
        self.summary = summary


def never() -> bool:
    """Nobody says stop."""
    return False


def hunt(
    perform: Perform, examine: Examine, rule: Rule, ground: Ground, seed: int, budget: Budget,
    stop: Callable[[], bool] = never,
) -> SearchSummary:  # fmt: skip
    """Searches until the budget is used up or `stop()`; what it finds is in the summary, never raised.

    `rule` holds an anomaly of a widened history against the promises in force (`promises.rule`). The same seed draws
    the same programs, up to the first find. Each fault, that is kind, property and standing, is reported once; the
    hunt goes on for others. `stop` and the deadline are looked at before every message. What `perform` and `examine`
    raise passes through, an interrupt as HuntCut.
    """
    deadline = time.monotonic() + budget.seconds if budget.seconds is not None else float("inf")
    return _Hunt(Ledger(perform, examine, rule, seed, stop, deadline), ground, budget).run()


@dataclass(slots=True)
class _Hunt:
    ledger: Ledger
    ground: Ground
    budget: Budget
    findings: dict[Fault, Finding] = field(default_factory=dict)
    hunted: int = 0
    """Rounds of programs drawn while nothing was caught."""
    verdicts: StickyVerdicts | None = None
    """Of the session under way."""

    def run(self) -> SearchSummary:
        try:
            self.search()
        except KeyboardInterrupt as interrupt:
            self.ledger.deadline = 0.0  # nothing is sent any more, whatever is still made of what was caught
            self.keep_catch()
            raise HuntCut(self.summary()) from interrupt
        return self.summary()

    def search(self) -> None:
        session = 0
        while not self.used_up():
            self.verdicts = self.session()
            try:
                draw_programs(self.verdicts.check, self.ledger.seed, session)
            except ViolationError:
                pass  # caught, remembered and shrunk
            except HaltError as halt:
                if halt.__cause__ is not None:
                    raise halt.__cause__ from None
            self.keep_catch()
            session += 1

    def keep_catch(self) -> None:
        if self.verdicts is not None and self.verdicts.caught:
            best = self.verdicts.best()
            self.findings[best.fault] = make_finding(self.ledger, best, self.budget)

    def summary(self) -> SearchSummary:
        return self.ledger.summary(tuple(self.findings.values()))

    def session(self) -> StickyVerdicts:
        """Verdicts for one run of Hypothesis, which ends with its first catch."""

        def attempt(draft: Draft) -> tuple[Sight, ...]:
            if not verdicts.caught:
                if self.used_up():
                    raise HaltError
                self.hunted += self.budget.message
            try:
                return self.ledger.try_draft(draft, self.budget.message)
            except Exception as error:  # a failure of ours, which Hypothesis must not take for one of the program
                raise HaltError from error

        verdicts = StickyVerdicts(
            lambda data: decode_draft(data, self.ground), attempt, self.findings, patience_s=self.budget.shrinking_s
        )
        return verdicts

    def used_up(self) -> bool:
        return self.ledger.over or (self.budget.rounds is not None and self.hunted >= self.budget.rounds)
