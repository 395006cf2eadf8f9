"""Who sees whom how late: directions are kept apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconform.report.console import report_text
from fsconform.report.markdown import markdown_report
from fsconform.report.pair_matrix import entry_text, pair_matrices
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict
from tests.report.examples import NEGATIVE, RUNS, a_result, a_site, kept_run, latency, latency_observation, within

LATE_S = {"a-b": 5.0, "b-a": 1.0, "a-c": 0.0, "c-a": 3.0, "c-b": 2.0}
"""Direction -> median; b-c is not measured."""


def result(direction: str, median_s: float, verdict: Verdict = Verdict.KEPT, observer: str = "stat") -> CellResult:
    cell = make_cell("visibility.create", direction, publish="rename", state="missed", observer=observer, age="fresh")
    return a_result(cell, within(NEGATIVE), latency_observation(latency(median_s, 20)), verdict)


def three_sites(*more: CellResult) -> RunRecord:
    cells = [result(direction, late) for direction, late in LATE_S.items() if direction != "c-b"]
    cells += [result("c-b", LATE_S["c-b"], Verdict.VIOLATED), *more]
    topologies = dict.fromkeys(LATE_S, "host")
    return replace(kept_run(), sites=tuple(map(a_site, "abc")), topologies=topologies, cells=tuple(cells))


def test_each_direction_has_an_entry_of_its_own() -> None:
    (matrix,) = pair_matrices(three_sites())
    assert matrix.name == "visibility.create/rename/missed/stat/fresh"
    assert matrix.letters == ("a", "b", "c")
    told = {
        (acting, observing): entry_text(entry, acting == observing)
        for acting, entries in matrix.rows
        for observing, entry in zip(matrix.letters, entries, strict=True)
    }
    assert told["a", "b"].startswith("5.0")
    assert told["b", "a"].startswith("1.00 s") or told["b", "a"].startswith("99")
    assert told["a", "c"].startswith("at once")
    assert told["c", "b"].endswith("(violated)")
    assert told["b", "c"] == "not measured"
    assert [told[letter, letter] for letter in "abc"] == ["-"] * 3


def test_other_questions_stay_out_and_ages_stay_apart() -> None:
    settled = result("a-b", 9.0)
    settled = replace(settled, cell=make_cell("visibility.create", "a-b", publish="rename", state="missed",
                                              observer="stat", age="settled"))  # fmt: skip
    names = [matrix.name for matrix in pair_matrices(three_sites(result("a-b", 1.0, observer="scandir"), settled))]
    assert names == ["visibility.create/rename/missed/stat/fresh", "visibility.create/rename/missed/stat/settled"]


def test_nothing_seen_is_said_so() -> None:
    empty = replace(result("b-c", 0.0, Verdict.INCONCLUSIVE), observation=Observation(12, 0, reason="site c lost"))
    (matrix,) = pair_matrices(three_sites(empty))
    assert entry_text(matrix.rows[1][1][2], itself=False) == "nothing seen (inconclusive)"


@pytest.mark.parametrize("name", RUNS)
def test_two_sites_need_no_matrix(name: str) -> None:
    record = RUNS[name]()
    assert pair_matrices(record) == ()
    assert "Who sees whom" not in report_text(record, 100) + markdown_report(record)


def test_the_matrix_is_in_the_reports() -> None:
    record = three_sites()
    text, markdown = report_text(record, 100), markdown_report(record)
    line = next(line for line in text.splitlines() if line.strip().startswith("b ") and "not measured" in line)
    assert line.split()[0] == "b"
    assert "Who sees whom how late: visibility.create/rename/missed/stat/fresh (measured on a model)" in text
    assert "## Who sees whom how late" in markdown
    row = next(line for line in markdown.splitlines() if line.startswith("| b | "))
    assert row.count("|") == 5
    assert "not measured" in row
