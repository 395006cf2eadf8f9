"""docs/kill-matrix.md is current: it shows the mutants that there are, caught by what they name. Times may differ."""

from __future__ import annotations

import re
from pathlib import Path

from fsconform.lab.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "kill-matrix.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| `([a-z0-9-]+)` \|[^|]*(?:\\\|[^|]*)*\| ([^|]*) \| ([^|]*) \| ([^|]*) \|")


def _rows() -> dict[str, tuple[set[str], str]]:
    """Mutant -> the properties that caught it, and what was wrong."""
    table = TEXT.partition("## By property")[0]
    found = [match for line in table.splitlines() if (match := ROW.fullmatch(line))]
    return {match[1]: (set(re.findall(r"`([a-z.-]+)`", match[2])), match[4].strip()) for match in found}


def test_it_shows_every_mutant_caught_by_what_it_names() -> None:
    caught = {name: properties for name, (properties, _) in _rows().items()}
    assert caught == {name: set(mutant.properties) for name, mutant in MUTANTS.items() if mutant.properties}


def test_nothing_in_it_is_wrong() -> None:
    assert {name: wrong for name, (_, wrong) in _rows().items() if wrong} == {}


def test_it_shows_the_mutants_that_no_property_asks_for() -> None:
    others = set(re.findall(r"^- `([a-z0-9-]+)`:", TEXT, re.MULTILINE))
    assert others == {name for name, mutant in MUTANTS.items() if not mutant.properties}


def test_the_readme_links_to_it() -> None:
    assert "docs/kill-matrix.md" in (ROOT / "README.md").read_text(encoding="utf-8")
