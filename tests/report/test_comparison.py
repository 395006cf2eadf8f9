"""Runs side by side: read back strictly, differences first, models named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from fsconform.cli import app
from fsconform.report.comparison import Comparison, Kind, compare
from fsconform.report.comparison_console import comparison_text
from fsconform.report.comparison_files import comparison_markdown, comparison_object, write_comparison
from fsconform.report.machine import report_object, report_text
from fsconform.report.reading import read_report
from fsconform.vocabulary.applications import INFERRED, ApplicationVerdict, Safety
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.sites import Mount
from fsconform.vocabulary.verdicts import CellResult, Verdict
from tests.report.examples import (
    GUARANTEED,
    MODEL_NOTE,
    NEGATIVE,
    NOTHING,
    RUNS,
    a_result,
    a_site,
    kept_run,
    latency,
    latency_observation,
    within,
)

MISSED = make_cell("visibility.create", "a-b", publish="rename", state="missed", observer="stat")
BACK = replace(MISSED, direction="b-a")
RACE = make_cell("exclusive.winner", "all", publish="excl", state="cold", contenders="2")
LINK = make_cell("capability.link", "a-a")


def seen(median_s: float, cell: Any = MISSED, verdict: Verdict = Verdict.KEPT, never: int = 0) -> CellResult:
    return a_result(cell, within(NEGATIVE), latency_observation(latency(median_s, 20, never=never)), verdict)


def raced(violations: int, verdict: Verdict) -> CellResult:
    outcomes = {"1 winner": 300 - violations, "2 winners": violations}
    return a_result(RACE, GUARANTEED, Observation(300, 300, violations, outcomes), verdict, violations=violations)


def record(profile: str, *cells: CellResult, **changes: Any) -> RunRecord:
    return replace(kept_run(), profile=profile, model_note="", cells=cells, **changes)


def compared(tmp_path: Path, *records: RunRecord) -> Comparison:
    places = []
    for number, run in enumerate(records):
        folder = tmp_path / f"run{number}"
        folder.mkdir()
        (folder / "report.json").write_text(report_text(run))
        places.append(str(folder))
    return compare([read_report(place) for place in places])


# ---------------------------------------------------------------- rows


def test_differences_come_first_with_interval_and_ratio(tmp_path: Path) -> None:
    cold = make_cell("visibility.create", "a-b", publish="rename", state="cold", observer="stat")
    at_once = a_result(cold, GUARANTEED, latency_observation(latency(0.0, 20)), Verdict.KEPT)
    alone = a_result(LINK, GUARANTEED, Observation(1, 1, refused="works"), Verdict.KEPT)
    first = record("nfsv3", at_once, alone, seen(30.0), raced(0, Verdict.KEPT))
    second = record("3fs-fuse", at_once, seen(5.0), raced(41, Verdict.VIOLATED))
    found = compared(tmp_path, first, second)
    assert [(row.name, row.kind) for row in found.rows] == [
        ("exclusive.winner/excl/cold/2", Kind.VERDICT),
        ("visibility.create/rename/missed/stat", Kind.SEEN),
        ("capability.link", Kind.PARTIAL),
        ("visibility.create/rename/cold/stat", Kind.ALIKE),
    ]
    late = found.rows[1].entries
    assert late[0] is not None
    assert late[1] is not None
    assert [late[0].ratio, late[1].ratio] == pytest.approx([1.0, 1 / 6], rel=0.01)
    assert late[1].seen.startswith("[5.00 s, 5.00 s], max 5.0")
    assert late[1].promised == "within 5 s"
    assert found.rows[0].entries[1].seen.startswith("41 of 300 (")  # type: ignore[union-attr]
    assert found.rows[2].entries[1] is None
    assert found.rows[3].entries[0].seen == "at once"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (seen(5.0), seen(5.1), Kind.ALIKE),
        (seen(5.0), seen(0.0), Kind.SEEN),
        (seen(5.0), seen(5.0, never=30), Kind.SEEN),
        (raced(0, Verdict.KEPT), raced(3, Verdict.INCONCLUSIVE), Kind.VERDICT),
        (seen(5.0), replace(seen(5.0), promise=NOTHING), Kind.PROMISED),
        (
            a_result(LINK, GUARANTEED, Observation(1, 1, refused="works"), Verdict.KEPT),
            a_result(LINK, GUARANTEED, Observation(1, 1, refused="EPERM"), Verdict.KEPT),
            Kind.SEEN,
        ),
    ],
)
def test_what_counts_as_different(tmp_path: Path, first: CellResult, second: CellResult, kind: Kind) -> None:
    (row,) = compared(tmp_path, record("p", first), record("q", second)).rows
    assert row.kind is kind


def test_the_worst_direction_speaks_for_all(tmp_path: Path) -> None:
    first = record("p", seen(5.0), seen(9.0, BACK))
    (row,) = compared(tmp_path, first, record("q", seen(5.0, BACK, Verdict.VIOLATED), seen(5.0))).rows
    assert row.entries[0].seen.startswith("[9.0") or row.entries[0].seen.startswith("[8.9")  # type: ignore[union-attr]
    assert row.entries[0].directions == ("a-b", "b-a")  # type: ignore[union-attr]
    assert row.entries[1].verdict is Verdict.VIOLATED  # type: ignore[union-attr]
    assert row.entries[1].ratio == pytest.approx(5 / 9, rel=0.01)  # type: ignore[union-attr]


# ---------------------------------------------------------------- environment, labels, models


def test_the_environment_tells_what_differs(tmp_path: Path) -> None:
    mount = Mount("0:60", "/mnt", "nfs4", "server:/e", "rw,vers=4.2,addr=10.0.0.1")
    other = replace(mount, options="rw,vers=4.2,noac,addr=10.0.0.2")
    first = record("nfsv4", seen(5.0), sites=(a_site("a", mount=mount), a_site("b", mount=mount)))
    second = record("nfsv4", seen(5.0), sites=(a_site("a", "/mnt/x", mount=other), a_site("b", "/mnt/y", mount=mount)))
    found = compared(tmp_path, first, second)
    differing = {fact.name: fact.values for fact in found.facts if fact.differs}
    assert differing == {"options": ("-", "noac | -")}
    assert [run.label for run in found.runs] == ["lab=3fs-fuse", "/mnt/x+/mnt/y"]
    assert "options of all rw, vers=4.2" in " ".join(comparison_text(found).split())
    assert "kernel 6.1.0-18-amd64" in " ".join(comparison_text(found).split())


def test_applications_come_first(tmp_path: Path) -> None:
    first = ApplicationVerdict("vllm-c", "vLLM", Safety.SAFE_WITHIN, 5.0, "", "stale", "", INFERRED)
    other = ApplicationVerdict("git", "git", Safety.SAFE, 0.0, "", "kept", "", INFERRED)
    both = compared(
        tmp_path, record("one", seen(1.0), applications=(first,)), record("two", seen(1.0), applications=(other,))
    )
    assert [(fact.name, fact.values) for fact in both.applications] == [
        ("vLLM", ("safe within 5 s", "-")), ("git", ("-", "safe")),
    ]  # fmt: skip
    for text in (comparison_text(both), comparison_markdown(both)):
        assert text.index("What that means for applications") < text.index("How their environments differ")
    assert next(iter(comparison_object(both)["applications"]))["values"] == ["safe within 5 s", "-"]


def test_models_are_named_as_models_at_every_table(tmp_path: Path) -> None:
    found = compared(
        tmp_path, record("nfsv3", seen(30.0)), replace(record("3fs-fuse", seen(5.0)), model_note=MODEL_NOTE)
    )
    assert [run.label for run in found.runs] == ["nfsv3", "3fs-fuse (model)"]
    for text in (comparison_text(found, 120), comparison_markdown(found)):
        assert "measured on a model" in text
        assert "not a measurement of 3FS" in " ".join(text.split())
    assert comparison_object(found)["runs"][1]["model_note"] == MODEL_NOTE


def test_equal_runs_have_labels_of_their_own(tmp_path: Path) -> None:
    found = compared(tmp_path, kept_run(), kept_run(), kept_run())
    assert len({run.label for run in found.runs}) == 3
    assert {row.kind for row in found.rows} == {Kind.ALIKE}


def test_findings_of_the_search_are_compared(tmp_path: Path) -> None:
    (fact,) = compared(tmp_path, RUNS["kept"](), RUNS["violated"]()).findings
    assert (fact.name, fact.values) == ("two-winners (exclusive.winner)", ("-", "37 of 200 rounds"))


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("width", [60, 100, 160])
def test_all_formats_hold_hostile_texts(tmp_path: Path, width: int) -> None:
    found = compared(tmp_path, *(make() for make in RUNS.values()))
    text = comparison_text(found, width)
    assert all(line.isprintable() and len(line) <= width for line in text.splitlines())
    assert all(line.isprintable() for line in comparison_markdown(found).splitlines())
    assert "<script>" not in comparison_markdown(found).replace("`", "")


def test_written_files_are_whole(tmp_path: Path) -> None:
    found = compared(tmp_path, kept_run(), RUNS["violated"]())
    paths = write_comparison(found, tmp_path / "out" / "deep")
    assert [path.name for path in paths] == ["compare.md", "compare.html", "compare.json"]
    told = json.loads(paths[-1].read_text())
    assert told["schema"] == "fsconform-comparison/1"
    assert len(told["cells"]) == len(found.rows)
    assert len(told["cells"][0]["runs"]) == 2
    with pytest.raises(CannotTestError, match="cannot be written"):
        write_comparison(found, paths[0] / "below-a-file")


# ---------------------------------------------------------------- reading


def spoilt(tmp_path: Path, spoil: Callable[[dict[str, Any]], None]) -> str:
    told = report_object(kept_run())
    spoil(told)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(told))
    return str(path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda told: told.pop("schema"), r"report\.json: 'schema' is missing"),
        (lambda told: told.update(schema="fsconform-report/9"), "schema: is 'fsconform-report/9'; this"),
        (lambda told: told.pop("cells"), "'cells' is missing"),
        (lambda told: told.update(cells=3), "cells: must be a list, is a whole number"),
        (lambda told: told["cells"][0].pop("verdict"), r"cells\[0\]: 'verdict' is missing"),
        (lambda told: told["cells"][0].update(verdict="kep"), r"cells\[0\]\.verdict: .*did you mean 'kept'"),
        (lambda told: told["cells"][1]["promise"].update(strength=None), r"cells\[1\]\.promise\.strength: must be"),
        (lambda told: told["cells"][0]["observation"].update(trials=-1), r"observation\.trials: must be a whole"),
        (lambda told: told["sites"][1].update(options=[]), r"sites\[1\]\.options: must be text, is a list"),
        (lambda told: told.update(duration_s=float("nan")), "duration_s: must be a number"),
        (lambda told: told.update(duration_s=10**400), "duration_s: must be a number"),
        (lambda told: told.update(topologies=[]), "topologies: must be an object"),
        (lambda told: told["search"].pop("findings"), "search: 'findings' is missing"),
        (lambda told: told.update(interrupted="no"), "interrupted: must be true or false"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_report_is_told_with_its_key(
    tmp_path: Path, spoil: Callable[[dict[str, Any]], None], message: str
) -> None:
    with pytest.raises(CannotTestError, match=message) as caught:
        read_report(spoilt(tmp_path, spoil))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_value_in_any_place_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    def spoil(told: dict[str, Any]) -> None:
        place: Any = told
        while isinstance(place, dict | list) and place:
            key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
                place[key] = data.draw(st.none() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({}))
                return
            place = place[key]

    try:
        report = read_report(spoilt(tmp_path_factory.mktemp("run"), spoil))
    except CannotTestError:
        return
    comparison_text(compare([report, report]))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 10_000, b"3"])
def test_files_that_are_no_reports(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(CannotTestError, match=r"report\.json: (is no JSON|must be an object)"):
        read_report(str(tmp_path))


# ---------------------------------------------------------------- the command


def test_the_command_shows_and_writes(tmp_path: Path) -> None:
    for name in ("kept", "violated"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.json").write_text(report_text(RUNS[name]()))
    runs = [str(tmp_path / "kept"), str(tmp_path / "violated" / "report.json")]
    result = CliRunner().invoke(app, ["compare", *runs, "--output", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Different verdicts: 2 cells" in result.output
    assert (tmp_path / "out" / "compare.md").read_text().startswith("# kept (model) and violated (model) compared")


def test_the_command_needs_two_reports() -> None:
    with pytest.raises(CannotTestError, match="needs two reports or more"):
        compare([])
