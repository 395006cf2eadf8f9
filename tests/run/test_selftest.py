"""What the self-test concludes from its attempts, without a lab."""

from __future__ import annotations

import pytest

from fsconform.lab.mutants import MUTANTS
from fsconform.report.kill_matrix import attempt_line, matrix_markdown, summary_lines
from fsconform.run.selftest import CANARIES, Attempt, Kill, Selftest, cells_for, every_cell, named_cells, selftest
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.properties import FAMILIES

CAUGHT = Kill("atomic.presence", 3, 24, 2, 0.004)
GAP = Attempt("strict,mutant=rename-gap", "rename-gap", frozenset({"atomic.presence"}), (CAUGHT,), (), (), (), 3.0)
CALM = Attempt("strict", "", frozenset(), (), (), (), (), 5.0)


def attempt(**fields: object) -> Attempt:
    known = {name: getattr(GAP, name) for name in Attempt.__slots__}
    return Attempt(**{**known, **fields})


def test_all_caught_is_a_success() -> None:
    assert Selftest((CALM, GAP), (), ("exclusive.winner-in-step",)).exit_status == 0


@pytest.mark.parametrize(
    "wrong",
    [
        attempt(kills=(), survived=("atomic.presence",)),
        attempt(accused=("size.grow",)),
        attempt(incidents=("worker 1 was lost",)),
        attempt(lab="strict", mutant="", named=frozenset(), accused=("atomic.presence",)),
    ],
)
def test_a_survivor_or_a_false_accusation_is_our_fault(wrong: Attempt) -> None:
    assert Selftest((CALM, wrong), (), ()).exit_status == 3
    assert attempt_line(wrong).startswith("BAD")


def test_a_property_without_a_mutant_is_our_fault() -> None:
    result = Selftest((CALM, GAP), ("size.grow",), ())
    assert result.exit_status == 3
    assert "NO MUTANT breaks size.grow" in summary_lines(result)


def test_unknown_words_are_refused_before_anything_is_mounted() -> None:
    for arguments in ({"mutants": ["rename-gab"]}, {"properties": ["atomic.presense"]}):
        with pytest.raises(CannotTestError, match=r"rename-gap|atomic\.presence"):
            selftest(**arguments)  # type: ignore[arg-type]


def test_every_mutant_is_tried_by_what_it_names_and_by_one_cell_of_every_family() -> None:
    for mutant in MUTANTS.values():
        if not mutant.properties:
            continue
        words = {cell.partition("/")[0] for cell in cells_for(mutant)}
        assert words == mutant.properties | set(CANARIES)
    assert len(CANARIES) == len(FAMILIES)


def test_cells_of_larger_budgets_are_used_where_a_mutant_asks_for_them() -> None:
    assert named_cells(MUTANTS["two-winners-symlink"]) == ["exclusive.winner/symlink/cold/2/all"]
    assert not any("symlink" in cell for cell in every_cell())


def test_the_page_shows_how_soon_each_lie_was_seen() -> None:
    page = matrix_markdown(Selftest((CALM, GAP), (), ()))
    assert "`atomic.presence` 3 of 24, trial 2, 4 ms" in page
    assert "1 of 1 mutants caught" in page
    assert "| `atomic.presence` | `rename-gap` |" in page
