"""Choosing cells by id and by expression."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconform.run.options import Options
from fsconform.run.selection import applicable, choose, matches, select
from fsconform.run.table import rows
from fsconform.vocabulary.errors import CannotTestError
from tests.judging.builders import make_site

TEXT = "visibility.create/rename/missed/stat/fresh/a-b"


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("visibility", True),
        ("VISIBILITY", True),
        ("not visibility", False),
        ("visibility and not open_read", True),
        ("exclusive or missed", True),
        ("not (exclusive or missed)", False),
        ("not not stat", True),
        ("exclusive and missed or stat", True),
    ],
)
def test_expressions(expression: str, holds: bool) -> None:
    assert matches(expression, TEXT) is holds


IN_STEP = "exclusive.winner-in-step/excl/cold/4/all"


def test_equal_verifiers_are_asked_about_only_where_kernels_booted_in_step() -> None:
    table = rows("quick", "ab")
    one = replace(make_site(), boot_id="one", booted_ns=(0, 10**6))
    near, far = (replace(one, letter="b", boot_id="two", booted_ns=(at, at + 10**6)) for at in (2 * 10**6, 10**8))
    assert IN_STEP in {row.cell.id for row in applicable(table, [one, near])}
    for other in (far, replace(near, boot_id="one"), replace(near, booted_ns=None)):
        assert IN_STEP not in {row.cell.id for row in applicable(table, [one, other])}
        with pytest.raises(CannotTestError, match=r"booted at the same moment.*lab=nfs3,collide"):
            applicable(table, [one, other], [IN_STEP])


@pytest.mark.parametrize("expression", ["and", "stat and", "(stat", "stat)", "stat missed", "", "not", "( )"])
def test_what_cannot_be_read_is_said(expression: str) -> None:
    with pytest.raises(CannotTestError):
        matches(expression, TEXT)


def test_an_unknown_cell_names_the_nearest() -> None:
    with pytest.raises(CannotTestError, match=r"did you mean 'capability\.link/a-a'"):
        choose(rows("quick", "a"), ["capability.lnk/a-a"])


def test_an_expression_that_selects_nothing_is_said() -> None:
    with pytest.raises(CannotTestError, match="selects none"):
        choose(rows("quick", "a"), expression="nothing-like-it")


def test_ids_and_expression_together() -> None:
    everything = rows("quick", "a")
    chosen = choose(everything, [row.cell.id for row in everything[:10]], "open_read")
    assert [row.cell.id for row in chosen] == [row.cell.id for row in everything[:10] if "open_read" in row.cell.id]


def test_cells_of_larger_budgets_can_be_added_or_named() -> None:
    settled = "visibility.create/rename/missed/stat/settled/a-b"
    quick = {row.cell.id for row in select(Options(("x",)), "quick", "ab")}
    added = {row.cell.id for row in select(Options(("x",), also="settled and missed"), "quick", "ab")}
    assert settled in added - quick
    assert quick < added
    assert [row.cell.id for row in select(Options(("x",), cell_ids=(settled,)), "quick", "ab")] == [settled]
