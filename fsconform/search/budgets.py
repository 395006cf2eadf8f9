"""How much a hunt may do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Budget:
    """A hunt ends when its rounds are done or its seconds are over, whichever comes first (None: no such limit).

    Rounds spent on making a find smaller do not count; seconds do. Raises ValueError where neither limit is given,
    or a message has fewer than 32 rounds (most of the time would go into messages).
    """

    rounds: int | None = None
    seconds: float | None = None
    message: int = 32
    """Rounds performed per message."""
    shrinking_s: float = 3.0
    """Hypothesis's share of making a find smaller."""
    reducing_s: float = 10.0
    """Wall-clock cap of the reduction after it."""
    batch: int = 200
    """Rounds of the fresh batch from which `k of n` comes."""

    def __post_init__(self) -> None:
        if self.rounds is None and self.seconds is None:
            raise ValueError("a hunt without a limit of rounds or seconds would never end")
        if self.message < 32:
            raise ValueError(f"{self.message} rounds per message; at least 32")
