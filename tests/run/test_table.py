"""The table of cells: sizes of the budgets, directions, and that every cell can be measured."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise

import pytest

from fsconform.probes.catalogue import EXPERIMENTS, TRIALS, experiments
from fsconform.run.table import BUDGETS, parse_budget, rows
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.properties import FAMILIES, PROPERTIES


@pytest.mark.parametrize(("sites", "least", "most"), [("a", 40, 60), ("ab", 40, 60)])
def test_quick_has_forty_to_sixty_cells(sites: str, least: int, most: int) -> None:
    assert least <= sum(not row.only for row in rows("quick", sites)) <= most


@pytest.mark.parametrize("sites", ["a", "ab"])
def test_standard_has_at_least_a_hundred_and_fifty_cells(sites: str) -> None:
    assert len(rows("standard", sites)) >= 150


def test_every_family_has_its_file_in_the_suite() -> None:
    suite = files("fsconform.suite")
    for family in FAMILIES:
        assert f'fs_cells("{family}")' in (suite / f"test_{family}.py").read_text(encoding="utf-8")


def test_a_larger_budget_contains_the_smaller_one() -> None:
    ids = [{row.cell.id for row in rows(tier, "ab")} for tier in BUDGETS]
    assert all(smaller <= larger for smaller, larger in pairwise(ids))


def test_every_property_has_a_cell_and_every_cell_a_probe() -> None:
    measured = {row.cell.property_id for row in rows("standard", "ab")}
    assert measured == set(PROPERTIES)
    assert measured == set(TRIALS) | set(EXPERIMENTS)


@pytest.mark.parametrize("sites", ["a", "ab", "abc"])
def test_every_cell_of_standard_can_be_built(sites: str) -> None:
    cells = [row.cell for row in rows("standard", sites)]
    for cell in cells:
        if cell.property_id in TRIALS:
            TRIALS[cell.property_id](cell, 3, "w0/3", "salt")
    built = experiments(cells, sites, "salt")
    served = {cell.id for experiment in built for cell in experiment.cells}
    assert served == {cell.id for cell in cells if cell.property_id in EXPERIMENTS}
    assert len({experiment.name for experiment in built}) == len(built)


def test_a_site_that_can_only_be_read_never_acts() -> None:
    acting = {row.cell.acting for row in rows("standard", "ab", acting="a")}
    assert "b" not in acting


def test_one_site_is_its_own_partner() -> None:
    directions = {row.cell.direction for row in rows("standard", "a")}
    assert directions == {"a-a", "all"}


@pytest.mark.parametrize(("word", "seconds"), [("90s", 90.0), ("30m", 1800.0), ("8h", 28800.0), ("quick", 30.0)])
def test_budgets_and_durations(word: str, seconds: float) -> None:
    assert parse_budget(word).seconds == seconds


@pytest.mark.parametrize("word", ["", "quik", "5", "0s", "-3m", "3d"])
def test_a_budget_that_is_none_is_named(word: str) -> None:
    with pytest.raises(CannotTestError, match="budget"):
        parse_budget(word)


def test_trial_counts_are_enough_for_kept() -> None:
    """Design, Promises: 60 / 300 / 3,000 informative trials for a guarantee, 20 / 100 / 1,000 for a bound."""
    for tier, guaranteed, within in (("quick", 60, 20), ("standard", 300, 100), ("thorough", 3000, 1000)):
        trials = parse_budget(tier).trials
        assert trials["guaranteed"] >= guaranteed
        assert trials["within"] >= within
        assert trials["rounds"] >= guaranteed
