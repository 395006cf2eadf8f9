"""The files of a run."""

from __future__ import annotations

import errno
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fsconform.report import markdown
from fsconform.report.histories import history_bytes, history_name
from fsconform.report.reproducer_witnesses import witness_names
from fsconform.report.writing import report_directory, run_directory_name, write_report
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.records import RunRecord
from tests.report.examples import RUNS, hostile_run, kept_run, race_history, violated_run

RACE = "exclusive.winner/excl/cold/2/all"
ALWAYS = {"report.json", "report.md", "report.html", "junit.xml", "environment.json"}


@pytest.mark.parametrize("record", [make() for make in RUNS.values()], ids=list(RUNS))
def test_all_formats_are_written(record: RunRecord, tmp_path: Path) -> None:
    told: list[str] = []
    paths = write_report(record, tmp_path / "new" / "run", told.append)
    names = {str(path.relative_to(tmp_path / "new" / "run")) for path in paths}
    assert names >= ALWAYS and told == []
    assert len(names) == len(ALWAYS) + len(record.histories) + 2 * len(witness_names(record))
    assert sorted(path for path in (tmp_path / "new" / "run").rglob("*") if path.is_file()) == sorted(paths)


def test_one_broken_format_does_not_cost_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(record: RunRecord) -> str:
        raise RecursionError("too deep\nby far")

    monkeypatch.setattr(markdown, "markdown_report", broken)
    told: list[str] = []
    names = [path.name for path in write_report(violated_run(), tmp_path, told.append)]
    of_witnesses = ["witness.json", "repro.py"] * 2
    assert sorted(names) == sorted([*ALWAYS - {"report.md"}, history_name(RACE), *of_witnesses])
    assert told == [f"{tmp_path}/report.md was not written: RecursionError: too deep\\nby far"]


def test_a_place_that_cannot_be_written_is_told_not_raised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert write_report(kept_run(), tmp_path / "file") == ()
    assert capsys.readouterr().err.count("was not written: ") == len(ALWAYS)
    assert write_report(kept_run(), report_directory(kept_run(), tmp_path / "file"), lambda line: None) == ()


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_half(path: Path, content: bytes) -> int:
        with path.open("wb") as stream:
            stream.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    write_report(kept_run(), tmp_path)
    before = (tmp_path / "junit.xml").read_bytes()
    monkeypatch.setattr(Path, "write_bytes", write_half)
    told: list[str] = []
    assert write_report(violated_run(), tmp_path, told.append) == () and len(told) == len(ALWAYS) + 5
    assert (tmp_path / "junit.xml").read_bytes() == before
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == sorted(ALWAYS)


def test_run_directories_are_unique_and_safe(tmp_path: Path) -> None:
    names = [report_directory(kept_run(), tmp_path / "reports").name for _ in range(3)]
    assert names == ["20261129T190242Z-fuse.fsconform" + end for end in ("", "-2", "-3")]
    assert re.fullmatch(r"[A-Za-z0-9._-]+", run_directory_name(hostile_run()))
    mount = replace(kept_run().sites[0].mount, fstype="../..")
    odd = replace(kept_run(), sites=(replace(kept_run().sites[0], mount=mount),))
    assert run_directory_name(odd) == "20261129T190242Z-unknown"
    assert run_directory_name(replace(kept_run(), started="2026-11-29T21:02:42+02:00", sites=())).startswith(
        "20261129T190242Z"
    )


def test_a_history_is_one_line_per_event_with_its_program() -> None:
    record = violated_run()
    lines = [json.loads(line) for line in gzip.decompress(history_bytes(record, RACE)).decode("ascii").splitlines()]
    header, events = lines[0], lines[1:]
    assert header["format"] == "fsconform-history/1" and header["cell"] == RACE and header["rounds"] == 3
    assert Program.from_json(header["program"]) == race_history().program
    assert header["lost"] == {"1": "hung in close"} and header["error_ns"] == [0, 25_000]
    assert len(events) == 3 * 2 * 3 and [event["round"] for event in events] == [0] * 6 + [1] * 6 + [2] * 6
    assert events[-1]["errno"] == "HUNG" and events[-1]["returned_ns"] is None
    assert history_bytes(record, RACE)[4:8] == bytes(4), "the time of writing is not part of a history"
