"""From a sight to a finding: reduce the program, then measure it in a fresh batch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from fsconform.search.budgets import Budget
from fsconform.search.drafts import Draft
from fsconform.search.encoding import ENCODING
from fsconform.search.ledger import HaltError, Ledger, Sight
from fsconform.search.promises import Standing
from fsconform.search.reducing import reduce_draft
from fsconform.vocabulary.findings import Finding
from fsconform.vocabulary.observations import Witness

_RACES = frozenset({"exclusive.winner", "exclusive.over-existing", "exclusive.loser-errno"})
"""Properties for which it does not matter what is in the files."""


def make_finding(ledger: Ledger, first: Sight, budget: Budget) -> Finding:
    """Reduces what `first` shows and measures the rest. Takes at most `budget.reducing_s`, the batch on top of it.

    Where time runs out before the batch, `k of n` is that of the message that showed the smallest program.
    """
    return _Find(ledger, first, budget).finding()


@dataclass(slots=True)
class _Find:
    ledger: Ledger
    first: Sight
    budget: Budget
    sights: dict[Draft, Sight] = field(default_factory=dict)
    """The latest sight of the fault per draft."""
    cap: float = 0.0

    def finding(self) -> Finding:
        self.sights[self.first.draft] = self.first
        self.cap = time.monotonic() + self.budget.reducing_s
        # Without its write a create in place would make contents look wrong that nobody wrote.
        bare = self.first.fault.property_id in _RACES
        reduced = reduce_draft(self.first.draft, self.count, self.over, self.budget.message, bare)
        failures, rounds = self.fresh_batch(reduced.draft)
        sight = self.sights[reduced.draft]
        fault = sight.fault
        program = {**sight.history.program.to_json(), "seed": self.ledger.seed, "encoding": ENCODING}
        return Finding(
            fault.kind, fault.property_id, sight.story, Witness(program, sight.events(), sight.story),
            failures, rounds, fault.standing is Standing.BROKEN, sight.history,
        )  # fmt: skip

    def over(self) -> bool:
        return self.ledger.over or time.monotonic() > self.cap

    def count(self, draft: Draft, rounds: int) -> tuple[int, int]:
        """(rounds that show the fault, rounds done) of one message; (0, 0) where it may not be sent any more."""
        before = self.ledger.rounds
        try:
            sights = self.ledger.try_draft(draft, rounds)
        except HaltError:
            return 0, 0
        done = self.ledger.rounds - before
        for sight in sights:
            if sight.fault == self.first.fault:
                self.sights[draft] = sight
                return len(sight.shown), done
        return 0, done

    def fresh_batch(self, draft: Draft) -> tuple[int, int]:
        """k of n on rounds that had no part in choosing the program, in messages of equal size."""
        sight = self.sights[draft]
        messages = -(-self.budget.batch // self.budget.message)
        counts = [self.count(draft, self.budget.batch // messages) for _ in range(messages)]
        failures, rounds = (sum(column) for column in zip(*counts, strict=True))
        return (failures, rounds) if rounds else (len(sight.shown), sight.history.rounds)
