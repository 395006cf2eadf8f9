"""The checked-in table of cells (`cells.toml`) and what a budget makes of it."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fsconform.vocabulary.cells import ALL_SITES, AXES, Cell, make_cell
from fsconform.vocabulary.errors import unknown
from fsconform.vocabulary.promises import Strength

BUDGETS = ("smoke", "quick", "standard", "thorough")
"""`smoke` shows that everything works, and convicts; it has too few trials to call anything kept."""
BASE_SECONDS = {"smoke": 4.0, "quick": 30.0, "standard": 120.0, "thorough": 1800.0}
"""Length of a run, besides the longest promised bound in play and its slack."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)\Z")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of the table runs, how many trials each cell gets, and how long."""

    name: str
    """`quick`, `standard`, `thorough`, or the duration as given."""
    tier: str
    """The budget of the table that it uses: a duration uses standard's."""
    seconds: float
    trials: dict[str, int]

    def trials_for(self, strength: Strength) -> int:
        """How many latency trials a cell with such a promise gets."""
        if strength is Strength.WITHIN:
            return self.trials["within"]
        if strength in (Strength.GUARANTEED, Strength.OPTIONAL):
            return self.trials["guaranteed"]
        return self.trials["not_promised"]

    @property
    def rounds(self) -> int:
        """How many rounds an experiment in rounds gets at first."""
        return self.trials["rounds"]


def _table() -> dict[str, Any]:
    return tomllib.loads((files("fsconform.run") / "cells.toml").read_text(encoding="utf-8"))


def parse_budget(word: str) -> Budget:
    """`quick`, `standard`, `thorough`, or a duration such as `90s`, `30m`, `8h`. Raises CannotTestError else."""
    trials = _table()["trials"]
    if word in BUDGETS:
        return Budget(word, word, BASE_SECONDS[word], trials[word])
    match = _DURATION.match(word)
    if not match or float(match[1]) <= 0:
        raise unknown("budget", word, (*BUDGETS, "30m"))
    return Budget(word, "standard", float(match[1]) * _UNITS[match[2]], trials["standard"])


def _directions(word: str, letters: Sequence[str], acting: Sequence[str]) -> list[str]:
    """The directions that a word of the table means for these sites; only `acting` sites may act."""
    first, others = letters[0], letters[1:]
    if word == "all":
        return [ALL_SITES]
    if word in ("each", "first"):
        return [f"{letter}-{letter}" for letter in (letters if word == "each" else letters[:1]) if letter in acting]
    if not others:
        return [f"{first}-{first}"] if word != "backward" else []
    if word == "forward":
        pairs = [(first, other) for other in others]
    elif word == "backward":
        pairs = [(other, first) for other in others]
    elif word == "pairs":
        pairs = list(itertools.permutations(letters, 2))
    else:
        raise unknown("direction", word, ("forward", "backward", "pairs", "each", "first", "all"), "cells.toml")
    return [f"{one}-{two}" for one, two in pairs if one in acting]


@dataclass(frozen=True, slots=True)
class Row:
    """A cell of the table, with whether single shots and cures go with it."""

    cell: Cell
    cures: bool
    only: str = ""
    """What must be true of the sites: `in-step`, or nothing."""


def rows(tier: str, letters: Sequence[str], acting: Sequence[str] | None = None) -> list[Row]:
    """All cells of a tier for sites with these letters, in the order of the table, each once.

    `acting`: the sites that can be written to (default: all). A site that can only be read from never acts.
    """
    able = list(letters if acting is None else acting)
    found: dict[str, Row] = {}
    for entry in _table()["cells"]:
        if BUDGETS.index(entry["budget"]) > max(BUDGETS.index(tier), BUDGETS.index("quick")):
            continue
        if entry.get("only") and len(letters) < 2:  # what must be true of the sites is about several of them
            continue
        properties = entry["property"] if isinstance(entry["property"], list) else [entry["property"]]
        axes = [axis for axis in AXES if axis in entry]
        values = [entry[axis] if isinstance(entry[axis], list) else [entry[axis]] for axis in axes]
        for property_id, chosen in itertools.product(properties, itertools.product(*values)):
            for word in entry["directions"]:
                for direction in _directions(word, letters, able):
                    cell = make_cell(property_id, direction, **dict(zip(axes, chosen, strict=True)))
                    found.setdefault(cell.id, Row(cell, bool(entry.get("cures", False)), entry.get("only", "")))
    return list(found.values())
