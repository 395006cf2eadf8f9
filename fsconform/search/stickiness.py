"""Sticky verdicts: one verdict per program, so that a test over a race is never called flaky.

Hypothesis runs a failing program again and complains (`FlakyFailure`) where it passes the second time. A race that
fails once in five runs does just that. But a violation that was seen is a proof: so the verdict on each program is
decided once and remembered with its witness, and once something was caught a program is tried several times before
it counts as passing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from fsconform.search.drafts import Draft
from fsconform.search.ledger import Fault, Sight
from fsconform.search.violations import violation_class


@dataclass(slots=True)
class StickyVerdicts:
    """Verdicts on byte strings.

    `attempt` performs a draft once. Faults in `known` are passed over. After the first catch only the same fault
    counts, each program gets `tries` attempts to show it, and from `patience_s` seconds later on programs not tried
    yet pass untried: Hypothesis then ends its shrinking by itself.
    """

    decode: Callable[[bytes], Draft]
    attempt: Callable[[Draft], tuple[Sight, ...]]
    known: Collection[Fault] = ()
    tries: int = 3
    patience_s: float = 5.0
    caught: list[Sight] = field(default_factory=list)
    _memo: dict[bytes, Sight | None] = field(default_factory=dict)
    _caught_at: float = 0.0

    def check(self, data: bytes) -> None:
        """Raises the violation class of what this program shows; always the same for the same bytes."""
        if data not in self._memo:
            self._memo[data] = self._decide(data)
        sight = self._memo[data]
        if sight is not None:
            raise violation_class(sight.fault.kind)(f"{sight.fault.property_id}: {sight.story}")

    def _decide(self, data: bytes) -> Sight | None:
        if self.caught and time.monotonic() > self._caught_at + self.patience_s:
            return None
        draft = self.decode(data)
        for _ in range(self.tries if self.caught else 1):
            for sight in self.attempt(draft):
                if self._counts(sight.fault):
                    self._caught_at = self._caught_at or time.monotonic()
                    self.caught.append(sight)
                    return sight
        return None

    def _counts(self, fault: Fault) -> bool:
        return fault == self.caught[0].fault if self.caught else fault not in self.known

    def best(self) -> Sight:
        """The smallest program caught that still shows the fault often; IndexError where nothing was caught.

        Smallest alone is not best: shrinking drifts into rare races.
        """
        often = max(sight.rate for sight in self.caught) / 4
        return min((s for s in self.caught if s.rate >= often), key=lambda s: (*s.draft.size, -s.rate))
