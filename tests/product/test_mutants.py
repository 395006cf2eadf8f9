"""Every mutant breaks exactly what it says, end to end: from the lying mount to the verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fsconform.lab.mutants import MUTANTS
from fsconform.run.conduct import candidate_rows, conduct
from fsconform.run.options import Options
from fsconform.run.progress import Silent
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import Verdict

FIRST_TEN = (
    "two-winners-excl", "two-winners-mkdir", "no-winner-excl", "loser-told-eio", "eexist-after-unlink", "rename-gap",
    "zero-after-publish", "torn-after-publish", "foreign-page", "negative-forever",
)  # fmt: skip
"""Tried against every cell; the others against the cells that could show them, and canaries."""
CANARIES = frozenset(
    {"visibility.create", "size.grow", "exclusive.winner", "atomic.order", "content.complete", "capability.link"}
)
"""One property of every family: the first cell of each is always tried."""
SILENT = "hang"
"""Breaks no property: what hangs is seen to by the tests of faults."""


def run(lab: str, cell_ids: Sequence[str] = ()) -> RunRecord:
    return conduct(
        Options((f"lab={lab}",), "posix-local", "smoke", seed=1, cell_ids=tuple(cell_ids), search=False), Silent()
    )


def selected(properties: frozenset[str]) -> list[str]:
    """The cells of these properties, the first one of every other property of their families, and the canaries."""
    chosen: list[str] = []
    seen: set[str] = set()
    families = {word.partition(".")[0] for word in properties}
    for row in candidate_rows(Options(("lab=strict",), budget="smoke")):
        word = row.cell.property_id
        first = word not in seen and (word in CANARIES or row.cell.family in families)
        if word in properties or first:
            chosen.append(row.cell.id)
        seen.add(word)
    return chosen


def violated(record: RunRecord) -> dict[str, list[str]]:
    """Property -> its violated cells, each with why."""
    found: dict[str, list[str]] = {}
    for result in record.cells:
        if result.verdict is Verdict.VIOLATED:
            found.setdefault(result.cell.property_id, []).append(f"{result.cell.id}: {result.judgement.reason}")
    return found


@pytest.mark.fuse
def test_strict_breaks_nothing() -> None:
    record = run("strict")
    assert violated(record) == {}
    assert record.incidents == ()
    unmeasured = [result.cell.id for result in record.cells if not result.observation.informative]
    assert unmeasured == []


@pytest.mark.fuse
@pytest.mark.parametrize("name", [name for name in MUTANTS if name != SILENT])
def test_a_mutant_breaks_what_it_names_and_nothing_else(name: str) -> None:
    mutant = MUTANTS[name]
    record = run(f"strict,mutant={name}", () if name in FIRST_TEN else selected(mutant.properties))
    broken = violated(record)
    assert mutant.properties <= set(broken), f"not seen: {sorted(mutant.properties - set(broken))}"
    by_accident = {word: cells for word, cells in broken.items() if word not in mutant.properties | set(mutant.also)}
    assert by_accident == {}
    assert record.incidents == ()


def test_the_first_ten_are_mutants() -> None:
    assert set(FIRST_TEN) <= set(MUTANTS)


def test_every_property_has_a_mutant() -> None:
    broken = set().union(*(mutant.properties for mutant in MUTANTS.values()))
    assert set(PROPERTIES) - broken == set()
