"""Contradictions: results of steps of one round that cannot be together on a filesystem that keeps its promise.

A witness shows one; a replay and a reproducer look for it again. Plain data, and stricter than the oracles: whatever
it finds is the same violation, but not every form of that violation is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Place = tuple[int, int]
"""(lane, step) of a program."""


@dataclass(frozen=True, slots=True)
class Result:
    """A step that was told `errno` (a name, `ok`) and, where that is `ok`, saw `value` under `mask` (or did not)."""

    place: Place
    errno: str
    mask: int = 0
    value: int = 0
    differs: bool = False
    """Whether anything but `value` was seen."""


@dataclass(frozen=True, slots=True)
class Order:
    """One step had returned at least `least_ns` before another one was invoked."""

    first: Place
    then: Place
    least_ns: int = 0


@dataclass(frozen=True, slots=True)
class Contradiction:
    """All these results, in this order, in one round."""

    results: tuple[Result, ...]
    orders: tuple[Order, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain objects."""
        return {
            "results": [
                {"place": list(r.place), "errno": r.errno, "mask": r.mask, "value": r.value, "differs": r.differs}
                for r in self.results
            ],
            "orders": [
                {"first": list(o.first), "then": list(o.then), "least_ns": o.least_ns} for o in self.orders
            ],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Contradiction:
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError for anything else."""
        results = tuple(
            Result(_place(entry["place"]), str(entry["errno"]), int(entry["mask"]), int(entry["value"]),
                   bool(entry["differs"]))
            for entry in data["results"]
        )  # fmt: skip
        orders = tuple(
            Order(_place(entry["first"]), _place(entry["then"]), int(entry["least_ns"])) for entry in data["orders"]
        )
        if not results:
            raise ValueError("a contradiction needs at least one result")
        return cls(results, orders)

    @property
    def places(self) -> frozenset[Place]:
        """All steps it speaks of."""
        ordered = (place for order in self.orders for place in (order.first, order.then))
        return frozenset((*(result.place for result in self.results), *ordered))


def _place(told: Any) -> Place:
    lane, step = told
    return int(lane), int(step)
