"""Console, Markdown and JUnit say the same, whatever names contain."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from fsconform.report.accusations import accusations_of, first_titles
from fsconform.report.console import print_report, report_text
from fsconform.report.junit import junit_text
from fsconform.report.markdown import markdown_report
from fsconform.report.verdict_text import sentence
from fsconform.vocabulary.applications import INFERRED, ApplicationVerdict, Safety
from fsconform.vocabulary.records import RunRecord
from tests.report.examples import HOSTILE, MODEL_NOTE, RUNS, hostile_run, kept_run, violated_run

UNPRINTABLE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e]")
EVERY_RUN = pytest.mark.parametrize("record", [make() for make in RUNS.values()], ids=list(RUNS))


def html_of(record: RunRecord) -> str:
    return str(MarkdownIt("gfm-like", {"linkify": False}).render(markdown_report(record)))


@EVERY_RUN
@pytest.mark.parametrize("width", [40, 80, 140])
def test_the_console_fits_and_ends_with_the_verdict(record: RunRecord, width: int) -> None:
    lines = report_text(record, width).splitlines()
    copied = ("  again ", "  report ")
    assert [line for line in lines if len(line) > width and not line.startswith(copied)] == []
    word = "INTERRUPTED" if record.interrupted else record.verdict.value.upper()
    assert lines[1].startswith(f"{word}  ") and any(line.startswith(f"{word}  ") for line in lines[-20:])
    assert not UNPRINTABLE.search(report_text(record, width))


@EVERY_RUN
def test_all_formats_tell_the_same_sentence(record: RunRecord) -> None:
    words = sentence(record).split()
    assert words == [word for word in report_text(record, 500).split("\n")[1].split()[1:] if word]
    shown = Xml.fromstring(
        f"<x>{re.sub('<(br|hr)>', '', html_of(record)).split('</strong>')[0].split('<strong>')[1]}</x>"
    )
    assert "".join(shown.itertext()).split() == words


def test_a_violation_is_told_in_full() -> None:
    for width in (80, 140):
        text = report_text(violated_run(), width)
        flat = " ".join(text.split())
        for accusation in accusations_of(violated_run()):
            full = accusation.title in first_titles(accusations_of(violated_run()))
            rest = (accusation.where, accusation.story, accusation.source) if full else (accusation.roles,)
            for part in (accusation.title, accusation.expected, accusation.got, *rest):
                assert " ".join(part.split()) in flat
            assert re.search(rf"^  again +{re.escape(accusation.again)}$", text, re.M)
        assert "--cell exclusive.winner/excl/cold/2/all --seed 7" in text
        assert "worker 1 at b hung in close" in flat and "0 of 12 (< 23 %)" in flat
    assert text.index("exclusive.winner/excl/cold/2/all") < text.index("What is undecided")


def test_what_is_not_promised_is_no_violation_but_told() -> None:
    (found,) = violated_run().search.findings
    record = replace(kept_run(), search=replace(kept_run().search, findings=(replace(found, promised=False),)))
    assert accusations_of(record) == ()
    told = f"{found.kind} ({found.property_id}, not promised): {found.story}"
    assert told in " ".join(report_text(record).split()) and told in markdown_report(record)
    assert not list(Xml.fromstring(junit_text(record).encode("utf-8")).iter("failure"))


def test_near_misses_are_told() -> None:
    told = "visibility.create/rename/missed/open/a-b: 1 trial of 20 missed after 5 s, within the slack"
    assert told in " ".join(report_text(kept_run()).split()) and told in markdown_report(kept_run())


def test_verdicts_of_applications_come_first_in_every_format() -> None:
    verdict = ApplicationVerdict("git", "a store", Safety.SAFE_WITHIN, 5.0, "", "stale\x1b names", "", INFERRED)
    record = replace(kept_run(), applications=(verdict,))
    properties = Xml.fromstring(junit_text(record)).findall("testsuite/properties/property")
    assert (properties[0].get("name"), properties[0].get("value")) == (
        "application git", "safe within 5 s: stale\\x1b names",
    )  # fmt: skip
    for text in (report_text(record), markdown_report(record)):
        assert text.index("safe within 5 s") < text.index("visibility.create")


def test_worst_comes_first() -> None:
    text = report_text(violated_run(), 120)
    order = [text.index(f"\n{family}  ") for family in ("visibility", "exclusive", "capability", "atomic", "size")]
    assert order == sorted(order)
    rows = re.findall(r"^  (violated|inconclusive|kept|observed|n/a)  ", text.split("\nexclusive  ")[0], re.M)
    assert rows[0] == "violated" and set(rows[1:]) == {"kept"}


def test_every_table_of_a_model_says_so() -> None:
    note = "Measured on a model, "
    markdown = markdown_report(violated_run())
    headings = [part.split("\n", 1)[0] for part in markdown.split("\n### ")[1:] if note not in part and "`" not in part]
    assert headings == []
    assert MODEL_NOTE in html_of(kept_run()) and MODEL_NOTE in " ".join(report_text(kept_run()).split())
    assert report_text(kept_run(), 140).count("(measured on a model)") == 7
    bare = replace(kept_run(), model_note="")
    assert note not in markdown_report(bare) and "model" not in report_text(bare)


def test_hostile_text_is_shown_not_obeyed() -> None:
    text = report_text(hostile_run(), 140)
    assert "[bold red]x[/]" in text and "\\x1b[31m" in text and "\\xff" in text
    html = html_of(hostile_run())
    assert "<script" not in html and "&lt;script&gt;" in html
    assert not UNPRINTABLE.search(markdown_report(hostile_run()))


def test_tables_of_markdown_keep_their_columns() -> None:
    for make in RUNS.values():
        for table in re.findall(r"<table>.*?</table>", html_of(make()), re.S):
            widths = {len(re.findall("<t[dh]", row)) for row in re.findall(r"<tr>.*?</tr>", table, re.S)}
            assert len(widths) == 1
    plain = [re.sub(r"<t[dh][^>]*>|</?(table|thead|tbody|tr|td|th|details|summary)>", "", html_of(make()))
             for make in RUNS.values()]  # fmt: skip
    assert not any(re.search(r"^\|.*\|$", text, re.M) for text in plain)


@EVERY_RUN
def test_junit_counts(record: RunRecord) -> None:
    root = Xml.fromstring(junit_text(record).encode("utf-8"))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    for result in record.cells:
        kinds = {"violated": "failure", "inconclusive": "error", "n/a": "skipped"}
        found = [child.tag for child in cases[result.cell.id] if child.tag != "system-out"]
        assert found == ([kinds[result.verdict.value]] if result.verdict.value in kinds else [])
        assert cases[result.cell.id].find("system-out") is not None
        types = [child.get("type") for child in cases[result.cell.id] if child.tag in ("failure", "error")]
        assert types == [result.verdict.value] * len(types)
    assert int(root.get("failures", "")) == len(accusations_of(record))
    assert int(root.get("tests", "")) == len(list(root.iter("testcase")))
    bad = int(root.get("failures", "")) + int(root.get("errors", ""))
    assert (bad > 0) == (record.exit_status != 0)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=30))
def test_any_text_is_fit_for_all_formats(text: str) -> None:
    base = violated_run()
    rows = tuple(replace(row, judgement=replace(row.judgement, reason=text)) for row in base.cells[:2])
    record = replace(base, cells=rows, incidents=(text,), profile=text, command=text)
    Xml.fromstring(junit_text(record).encode("utf-8"))
    assert not UNPRINTABLE.search(report_text(record))
    markdown = markdown_report(record)
    assert not UNPRINTABLE.search(markdown)
    assert "<script" not in str(MarkdownIt("gfm-like", {"linkify": False}).render(markdown)).lower()


def test_an_output_that_is_not_utf8_gets_plain_text() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    print_report(hostile_run(), console=Console(file=stream, width=80))
    stream.flush()
    assert raw.getvalue().decode("ascii").strip().endswith("capability.mmap).")


def test_colour_only_on_a_terminal() -> None:
    for terminal in (True, False):
        stream = io.StringIO()
        console = Console(file=stream, width=80, force_terminal=terminal, color_system="standard" if terminal else None)
        print_report(violated_run(), console=console)
        assert ("\x1b[" in stream.getvalue()) is terminal
    assert HOSTILE not in stream.getvalue()
