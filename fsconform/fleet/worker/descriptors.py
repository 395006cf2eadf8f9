"""Descriptors of one lane: where opening steps leave them and held steps take them from.

An opening step is nothing but its system call: the descriptor is its result, and the held steps of the same score
take it from the results, at a place known when they are compiled. Between scores (an earlier phase of a trial)
descriptors live in a table of slots. What a call was refused stands in the results as a Refusal, and a Refusal taken
for a descriptor raises EmptySlot: a step on a slot whose open failed is never performed, never EBADF on a foreign
descriptor, and a good slot costs no check.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from typing import Any, NamedTuple, Tuple

SLOTS = 64
NOT_RUN = -3
"""As `vocabulary.errnos.NOT_RUN`."""


class EmptySlot(Exception):  # noqa: N818 - a condition of a round, not an error
    """A step asked for a descriptor that an earlier step failed to open: the step was never performed."""


class Refusal:
    """What a call answered instead of a result."""

    __slots__ = ("errno",)

    def __init__(self, errno: int) -> None:
        self.errno = errno

    def __index__(self) -> int:
        raise EmptySlot

    fileno = __index__


EMPTY = Refusal(NOT_RUN)
"""In an empty slot, and the result of a step that asked for one."""
Place = Tuple["list[Any]", int]
"""A list and an index: where a descriptor will be when a step wants it."""


class Slots:
    """Descriptors that outlive a score."""

    def __init__(self) -> None:
        self.table: "list[Any]" = [EMPTY] * SLOTS
        self.strays: "list[int]" = []
        """Descriptors whose slot was opened again before they were closed."""
        self.mappings: "dict[int, mmap.mmap]" = {}
        """Slot -> what was mapped of its descriptor."""

    def put(self, slot: int, descriptor: Any) -> None:
        """Fill or empty a slot."""
        if self.table[slot] is not EMPTY:
            self.strays.append(self.table[slot])
        self.table[slot] = descriptor

    def close_all(self) -> None:
        """Close what is left at the end of a round; errors of these closes belong to no step."""
        for descriptor in (*self.table, *self.strays):
            if descriptor is not EMPTY:
                with suppress(OSError):
                    os.close(descriptor)
        self.table[:] = [EMPTY] * SLOTS
        self.strays.clear()
        for mapping in self.mappings.values():
            mapping.close()
        self.mappings.clear()


class _Opening(NamedTuple):
    """An opening step of a score: its slot, and where the results of it and of its closing step will be."""

    slot: int
    opened_at: int
    closed_at: int
    """-1 while no step closes it."""


class Handles:
    """What the steps of one score, in order, do with descriptors. `results`: the list their results come to."""

    def __init__(self, slots: Slots) -> None:
        self.slots = slots
        self.results: "list[Any]" = []
        self.position = 0
        """Where the result of the step that is being compiled will be."""
        self._openings: "list[_Opening]" = []
        self._latest: "dict[int, int]" = {}

    def opening(self, slot: int) -> None:
        """The step being compiled opens a descriptor into a slot."""
        self._latest[slot] = len(self._openings)
        self._openings.append(_Opening(slot, self.position, -1))

    def find(self, slot: int) -> Place:
        """Where the step being compiled finds the descriptor of a slot."""
        if slot not in self._latest:
            return self.slots.table, slot
        opening = self._openings[self._latest[slot]]
        return (self.results, opening.opened_at) if opening.closed_at < 0 else ([EMPTY], 0)

    def closing(self, slot: int) -> Place:
        """Like `find`, for the step that closes it: the slot is empty from then on."""
        place = self.find(slot)
        if slot in self._latest:
            number = self._latest[slot]
            if self._openings[number].closed_at < 0:
                self._openings[number] = self._openings[number]._replace(closed_at=self.position)
        return place

    def settle(self) -> None:
        """After the score: descriptors that are still open go to the slots."""
        performed = len(self.results)
        for opening in self._openings:
            if opening.opened_at < performed:
                opened = self.results[opening.opened_at]
                closed = 0 <= opening.closed_at < performed  # also if refused: Linux frees it, close(2) NOTES
                self.slots.put(opening.slot, opened if type(opened) is int and not closed else EMPTY)
