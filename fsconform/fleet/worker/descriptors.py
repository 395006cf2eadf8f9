"""Descriptor slots of one lane: where opening steps put descriptors and held steps take them from."""

from __future__ import annotations

import os
from contextlib import suppress


class EmptySlot(Exception):  # noqa: N818 - a condition of a round, not an error
    """A step asked for a descriptor that an earlier step failed to open: the step was never performed."""


class Descriptors(dict):  # type: ignore[type-arg]  # subscripted dict as a base class is fine, but slower to read
    """Slot number -> descriptor. Reading an empty slot raises EmptySlot, never EBADF on a foreign descriptor."""

    def __init__(self) -> None:
        super().__init__()
        self.strays: "list[int]" = []

    def __missing__(self, slot: int) -> int:
        raise EmptySlot(slot)

    def vacate(self, slot: int) -> None:
        """Empty a slot before something is opened into it; what it held is closed at the end of the round."""
        if slot in self:
            self.strays.append(self.pop(slot))

    def close_slot(self, slot: int) -> None:
        """close(2); the slot is empty afterwards whatever the call answered (Linux frees it, close(2) NOTES)."""
        descriptor = self[slot]
        del self[slot]
        os.close(descriptor)

    def close_all(self) -> None:
        """Close what is left at the end of a round; errors of these closes belong to no step."""
        for descriptor in (*self.values(), *self.strays):
            with suppress(OSError):
                os.close(descriptor)
        self.clear()
        self.strays.clear()
