"""What a run tells while it runs. Faces implement it; `Silent` says nothing."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told by the window; implementations must return at once."""

    def phase(self, text: str) -> None:
        """What is being done now."""

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """What is being waited for, and how much of it has passed."""

    def done(self) -> None:
        """Nothing more will be told."""


class Silent:
    """Says nothing."""

    def phase(self, text: str) -> None:
        """Says nothing."""

    def waiting(self, what: str, elapsed_s: float, total_s: float) -> None:
        """Says nothing."""

    def done(self) -> None:
        """Says nothing."""
