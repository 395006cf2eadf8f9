"""Every mutant breaks exactly what it says, end to end: from the lying mount to the verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fsconform.lab.mutants import MUTANTS
from fsconform.lab.mutants.registry import Mutant
from fsconform.run.conduct import conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.run.selftest import BUDGET, cells_for, every_cell
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import Verdict

FIRST_TEN = (
    "two-winners-excl", "two-winners-mkdir", "no-winner-excl", "loser-told-eio", "eexist-after-unlink", "rename-gap",
    "zero-after-publish", "torn-after-publish", "foreign-page", "negative-forever",
)  # fmt: skip
"""Tried against every cell; the others against the cells that could show them, and canaries."""
PLACES = dict.fromkeys(mutant.against for mutant in MUTANTS.values())
"""(lab, profile) without a mutant."""
ELSEWHERE = {"exclusive.winner-in-step": "needs kernels that booted in step (tests/lab/nfs)"}
"""Properties that no emulated lab can show, with why."""


def run(lab: str, profile: str, cell_ids: Sequence[str]) -> RunRecord:
    options = Options((f"lab={lab}",), profile, BUDGET, seed=1, cell_ids=tuple(cell_ids), search=False)
    return conduct(options, Silent())


def violated(record: RunRecord) -> dict[str, list[str]]:
    """Property -> its violated cells, each with why."""
    found: dict[str, list[str]] = {}
    for result in record.cells:
        if result.verdict is Verdict.VIOLATED:
            found.setdefault(result.cell.property_id, []).append(f"{result.cell.id}: {result.judgement.reason}")
    return found


@pytest.mark.fuse
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[0])
def test_a_lab_that_does_not_lie_breaks_nothing(place: tuple[str, str]) -> None:
    record = run(*place, every_cell())
    assert violated(record) == {}
    assert record.incidents == ()
    unmeasured = [result.cell.id for result in record.cells if not result.observation.informative]
    assert unmeasured == []


@pytest.mark.fuse
@pytest.mark.parametrize("name", [name for name, mutant in MUTANTS.items() if mutant.properties])
def test_a_mutant_breaks_what_it_names_and_nothing_else(name: str) -> None:
    mutant = MUTANTS[name]
    record = run(mutant.lab, mutant.against[1], every_cell() if name in FIRST_TEN else cells_for(mutant))
    broken = violated(record)
    assert mutant.properties <= set(broken), f"not seen: {sorted(mutant.properties - set(broken))}"
    by_accident = {word: cells for word, cells in broken.items() if word not in mutant.properties | set(mutant.also)}
    assert by_accident == {}
    assert record.incidents == ()


def test_the_first_ten_are_mutants() -> None:
    assert set(FIRST_TEN) <= set(MUTANTS)


def test_every_property_has_a_mutant() -> None:
    broken = frozenset[str]().union(*(mutant.properties for mutant in MUTANTS.values()))
    assert set(PROPERTIES) - broken == set(ELSEWHERE)


def test_every_mutant_has_cells_that_can_show_it() -> None:
    def shown(mutant: Mutant) -> set[str]:
        return {cell.partition("/")[0] for cell in cells_for(mutant)}

    assert [name for name, mutant in MUTANTS.items() if not mutant.properties <= shown(mutant)] == []
