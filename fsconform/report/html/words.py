"""Settings of the axes in plain words, for readers who have not seen a cell id before."""

from __future__ import annotations

from collections.abc import Mapping

from fsconform.vocabulary.cells import ALL_SITES, Cell

_WORDS: Mapping[str, Mapping[str, str]] = {
    "publish": {
        "rename": "the name appears by rename of a temporary file", "excl": "the name is created with O_EXCL",
        "create": "the name is created without O_EXCL", "link": "the name appears as a link to a temporary file",
        "mkdir": "the name is made with mkdir", "noreplace": "the name appears by rename with RENAME_NOREPLACE",
    },
    "state": {
        "cold": "nobody there had looked at it before", "missed": "the name had been looked up there, and was missing",
        "missed-ancestor": "a directory above had been looked up there, and was missing",
        "known": "the earlier state had been seen there", "listed": "the directory had been listed there",
        "held": "the file is held open there", "ghost": "an earlier file of that name had been seen there, and removed",
    },
    "age": {"fresh": "the directory is new", "settled": "the directory had rested for longer than its caches last"},
    "after": {"close": "after the writer's close", "fsync": "after the writer's fsync, before its close"},
}  # fmt: skip
"""Axis -> value -> clause of a sentence. A value that is not here speaks for itself."""


def setting_text(cell: Cell) -> str:
    """What the cell's axes mean: `the name appears by rename …; looked at with stat; the directory is new`."""
    return "; ".join(_clause(axis, value) for axis, value in cell.axes)


def _clause(axis: str, value: str) -> str:
    if axis == "observer":
        return f"looked at with {value.replace('_', ' + ')}"
    if axis == "contenders":
        return f"{value} contenders at once"
    return _WORDS.get(axis, {}).get(value, f"{axis} {value}")


def direction_text(direction: str) -> str:
    """`a acts, b observes`, `all sites act alike`."""
    if direction == ALL_SITES:
        return "all sites act alike"
    acting, _, observing = direction.partition("-")
    return f"both at {acting}" if acting == observing else f"{acting} acts, {observing} observes"
