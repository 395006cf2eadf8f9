"""report.html and compare.html as text: complete, small, and nothing in them acts that is not ours."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconform.report.accusations import accusations_of
from fsconform.report.comparison import Comparison, compare
from fsconform.report.curves import curve_of
from fsconform.report.html import page as page_module
from fsconform.report.html import questions
from fsconform.report.html.charts import Series, latency_chart
from fsconform.report.html.comparison_page import comparison_html
from fsconform.report.html.page import report_html
from fsconform.report.html.pages import MOST_BYTES
from fsconform.report.machine import report_text
from fsconform.report.reading import read_report
from fsconform.report.verdict_text import sentence
from fsconform.vocabulary.environments import SiteEnvironment
from fsconform.vocabulary.observations import LatencyTrial
from fsconform.vocabulary.records import RunRecord
from tests.report.examples import RUNS, hostile_run, kept_run, violated_run

EVERY_RUN = pytest.mark.parametrize("record", [make() for make in RUNS.values()], ids=list(RUNS))
FETCHING = {"src", "srcset", "data", "action", "formaction", "poster", "background", "xlink:href", "ping"}


class Reader(HTMLParser):
    """What a browser would make of a page: its tags, its text, what could act or fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.words: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag if tag in self.inside else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        (self.inside[self._open] if self._open else self.words).append(data)

    @property
    def text(self) -> str:
        """All that can be read, on one line."""
        return " ".join(" ".join(self.words).split())

    def having(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all tags of a kind."""
        return [attributes for name, attributes in self.tags if name == tag]


def compared(tmp_path: Path, *records: RunRecord) -> Comparison:
    places = []
    for number, record in enumerate(records):
        place = tmp_path / f"{number}" / "report.json"
        place.parent.mkdir()
        place.write_text(report_text(record))
        places.append(str(place))
    return compare([read_report(place) for place in places])


def check_that_nothing_acts(read: Reader) -> None:
    assert [name for name, _ in read.tags if name in ("iframe", "object", "embed", "img", "link", "base", "form")] in (
        [], ["form"])  # fmt: skip
    assert len(read.inside["script"]) == len(read.inside["style"]) == 1
    (policy,) = [meta["content"] for meta in read.having("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(read.inside[kind][0].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy and "http" not in policy
    for _, attributes in read.tags:
        assert not [name for name in attributes if name.startswith("on") or name in FETCHING or name == "style"]
        assert attributes.get("href", "#").startswith("#")
        assert "url(" not in "".join(attributes.values())


@EVERY_RUN
def test_a_page_tells_all_and_fetches_nothing(record: RunRecord) -> None:
    page = report_html(record)
    read = Reader(page)
    check_that_nothing_acts(read)
    assert len(page.encode("utf-8")) < MOST_BYTES
    assert " ".join(sentence(record).split()) in read.text
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids)), "what is linked to must be one thing"
    assert {link["href"][1:] for link in read.having("a")} <= set(ids)


def test_every_cell_stands_on_the_page_with_its_promise_and_how_to_repeat_it() -> None:
    record = violated_run()
    read = Reader(report_html(record))
    rows = [row for row in read.having("details") if "data-verdict" in row]
    assert {row["data-family"] for row in rows} == {result.cell.family for result in record.cells}
    assert {row["data-verdict"] for row in rows} == {result.verdict.value for result in record.cells}
    for result in record.cells:
        assert f"--cell {result.cell.id} " in read.text and result.promise.source in read.text
    opened = [row for row in rows if "open" in row]
    assert opened and all(row["data-verdict"] == "violated" for row in opened)
    for accusation in accusations_of(record)[:-1]:
        assert accusation.expected in read.text and accusation.breaks in read.text
    (found,) = record.search.findings
    assert found.witness.story in read.text and "37 of 200 rounds" in read.text


def test_a_violation_has_its_picture_with_the_contradiction_marked() -> None:
    record = violated_run()
    marked = []
    for result in record.cells:
        witness = result.observation.witness
        events = [{**e, "guilty": e["step"] in ("rename", "excl_create")} for e in witness.events] if witness else []
        shown = replace(witness, events=tuple(events)) if witness else None
        marked.append(replace(result, observation=replace(result.observation, witness=shown)))
    read = Reader(report_html(replace(record, cells=tuple(marked))))
    boxes = [attributes["class"] for attributes in read.having("g") if attributes.get("class", "").startswith("op ")]
    assert boxes.count("op guilty") == 3 and "op done" in boxes
    assert "Red: cannot be together." in read.text


def test_what_is_not_promised_is_told_without_red() -> None:
    (found,) = violated_run().search.findings
    record = replace(kept_run(), search=replace(kept_run().search, findings=(replace(found, promised=False),)))
    page = report_html(record)
    assert 'class="timeline neutral"' in page and 'class="timeline"' not in page
    assert "what a promise would rule out" in page and "cannot be together" not in page


def test_what_stood_around_a_site_is_told() -> None:
    near = SiteEnvironment("a", user="ops", daemons=("hf3fs_fuse_main",), packages=(("nfs-common", "2.6.2"),),
                           calls={"LOOKUP": 3}, looks=120)  # fmt: skip
    read = Reader(report_html(replace(kept_run(), environments=(near,))))
    assert "hf3fs_fuse_main; nfs-common 2.6.2" in read.text and "uid 0 (ops)" in read.text
    assert "at least 117 of 120 looks: no call was sent for them" in read.text


def test_a_page_that_would_be_too_large_gives_up_curves_of_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = report_html(violated_run())
    assert whole.count('<figure class="chart">') > 3
    monkeypatch.setattr(page_module, "MOST_BYTES", len(whole.encode()) - 1)
    smaller = report_html(violated_run())
    assert 0 < smaller.count('<figure class="chart">') < whole.count('<figure class="chart">')
    monkeypatch.setattr(page_module, "MOST_BYTES", 0)
    assert '<figure class="chart">' not in report_html(violated_run())


def test_a_thorough_run_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty steps per curve are the most that is drawn; one chart stands for all of them here."""
    base = violated_run()
    curve = curve_of([LatencyTrial(k * 10**6, (k + 1) * 10**6, 10**9) for k in range(3000)])
    assert curve is not None
    chart = latency_chart([Series("a-b", curve, 5.0), Series("b-a", curve, 5.0)])
    monkeypatch.setattr(questions, "latency_chart", lambda series: chart)
    rows = [replace(result, cell=replace(result.cell, direction=f"{a}-{b}")) for a in "cdefg" for b in "hijkl"
            for result in base.cells if result.cell.direction != "all"]  # fmt: skip
    page = report_html(replace(base, cells=tuple(rows)))
    assert len(rows) > 400 and len(page.encode("utf-8")) < MOST_BYTES
    assert '<figure class="chart">' in page


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    evil = '"><script>alert(1)</script>'
    base = hostile_run()
    record = replace(base, profile=evil, incidents=(evil,), bounds=(evil, "<!--"), command=evil)
    for page in (report_html(record), comparison_html(compared(tmp_path, record, kept_run()))):
        read = Reader(page)
        check_that_nothing_acts(read)
        assert evil in read.text


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(), max_size=30))
def test_any_text_is_fit_for_a_page(text: str) -> None:
    base = violated_run()
    race = [row for row in base.cells if row.cell.property_id == "exclusive.winner"]
    rows = tuple(replace(row, judgement=replace(row.judgement, reason=text)) for row in race[:1])
    page = report_html(replace(base, cells=rows, incidents=(text,), profile=text))
    check_that_nothing_acts(Reader(page))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e]", page)


# ---------------------------------------------------------------- comparisons


def test_a_comparison_lays_curves_over_one_another_and_names_both_contracts(tmp_path: Path) -> None:
    found = compared(tmp_path, kept_run(), replace(violated_run(), profile="posix-local"))
    page = comparison_html(found)
    read = Reader(page)
    check_that_nothing_acts(read)
    assert "var(--series-1)" in page and "var(--series-2)" in page
    for run in found.runs:
        assert run.sentence in read.text
    kinds = [row["data-verdict"] for row in read.having("details") if "data-verdict" in row]
    assert kinds[0] == "VERDICT" and sorted(kinds, key=kinds.index) == kinds and len(kinds) == len(found.rows)


def test_reports_without_curves_are_compared_too(tmp_path: Path) -> None:
    found = compared(tmp_path, kept_run(), violated_run())
    rows: list[Any] = [replace(row, entries=tuple(e and replace(e, curve=None) for e in row.entries))
                       for row in found.rows]  # fmt: skip
    page = comparison_html(replace(found, rows=tuple(rows)))
    assert '<figure class="chart">' not in page
    check_that_nothing_acts(Reader(page))
