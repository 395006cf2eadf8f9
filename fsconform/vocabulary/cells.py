"""Cells: a property under one setting of its axes, in one direction between sites."""

from __future__ import annotations

import re
from dataclasses import dataclass

AXES = ("publish", "state", "observer", "age", "contenders", "size", "after", "feature")
"""In the order in which their values stand in a cell's id."""
_WORD = re.compile(r"[a-z0-9._+-]+\Z")
ALL_SITES = "all"
"""Direction of a cell in which every site takes part alike."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """`visibility.create/rename/missed/stat/a-b`.

    `direction` is `a-b` (site a acts, site b observes; `a-a`: two workers of one site) or `all`.
    Raises ValueError for an unknown axis or a value outside `[a-z0-9._+-]`.
    """

    property_id: str
    axes: tuple[tuple[str, str], ...]
    direction: str

    def __post_init__(self) -> None:
        order = [AXES.index(axis) for axis, _ in self.axes if axis in AXES]
        if len(order) != len(self.axes) or order != sorted(set(order)):
            raise ValueError(f"axes {self.axes!r}: each at most once, in the order {AXES}")
        for word in (self.property_id, self.direction, *(value for _, value in self.axes)):
            if not _WORD.match(word):
                raise ValueError(f"{word!r} cannot stand in a cell id: use [a-z0-9._+-]")

    @property
    def id(self) -> str:
        """Property, axis values and direction, joined by `/`."""
        return "/".join((self.property_id, *(value for _, value in self.axes), self.direction))

    @property
    def family(self) -> str:
        """The part of the property before the dot."""
        return self.property_id.partition(".")[0]

    def axis(self, name: str) -> str | None:
        """The value of one axis, None where the cell does not have it."""
        return dict(self.axes).get(name)

    @property
    def acting(self) -> str:
        """Letter of the acting site (`all` where all act)."""
        return self.direction.partition("-")[0]

    @property
    def observing(self) -> str:
        """Letter of the observing site (`all` where all do)."""
        return self.direction.rpartition("-")[2]

    def __str__(self) -> str:
        return self.id


def make_cell(property_id: str, direction: str, **axes: str) -> Cell:
    """A cell with its axes put in order."""
    return Cell(property_id, tuple((axis, axes[axis]) for axis in AXES if axis in axes) + tuple(
        (axis, value) for axis, value in axes.items() if axis not in AXES), direction)  # fmt: skip
