"""report.html: the whole report in one file that a stranger can open anywhere and understand in five minutes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fsconform.report.accusations import accusations_of, first_titles
from fsconform.report.applications import application_rows
from fsconform.report.asides import capability_line, near_misses, search_line
from fsconform.report.digest import WORST_FIRST, Row
from fsconform.report.html.charts import Series
from fsconform.report.html.pages import MOST_BYTES, render
from fsconform.report.html.questions import Proof, Question, anchor_of, draw_chart, proof_of, questions_of
from fsconform.report.html.words import direction_text
from fsconform.report.numbers import bytes_text
from fsconform.report.pair_matrix import LEGEND as PAIR_LEGEND
from fsconform.report.pair_matrix import entry_text, pair_matrices
from fsconform.report.verdict_text import (
    TOPOLOGY_WORDS,
    broken_properties,
    repeat_command,
    sentence,
    status_line,
    verdict_counts,
    verdict_meaning,
)
from fsconform.vocabulary.cells import AXES
from fsconform.vocabulary.findings import Finding
from fsconform.vocabulary.properties import PROPERTIES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import Verdict

_ALWAYS = frozenset({Verdict.VIOLATED, Verdict.INCONCLUSIVE})
"""Verdicts whose curves are drawn even where there is no room for the others."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding of the search."""

    finding: Finding
    question: str
    proof: Proof


@dataclass(frozen=True, slots=True)
class Filter:
    """One axis to choose by, and the values that rows have."""

    axis: str
    values: tuple[str, ...]


def report_html(record: RunRecord) -> str:
    """The page. Where it would be larger than `MOST_BYTES`, curves of kept rows are left out, then all of them."""
    pages = (_page(record, drawn) for drawn in (frozenset(Verdict), _ALWAYS, frozenset[Verdict]()))
    page = next(pages)
    while len(page.encode("utf-8")) > MOST_BYTES and (smaller := next(pages, None)):
        page = smaller
    return page


def _page(record: RunRecord, drawn: frozenset[Verdict]) -> str:
    def draw(row: Row, series: Sequence[Series]) -> Markup | None:
        return draw_chart(row, series) if row.verdict in drawn else None

    accusations = accusations_of(record)
    meaning = verdict_meaning(record)[len(broken_properties(record)) :]  # "What is violated" tells of these
    heads = first_titles(accusations)
    questions = questions_of(record, accusations, draw)
    return render(
        "report.html.j2", record=record, word="interrupted" if record.interrupted else record.verdict.value,
        sentence=sentence(record), meaning=meaning, counts=verdict_counts(record),
        verdicts=WORST_FIRST, applications=application_rows(record.applications),
        accused=[accusation for accusation in accusations if accusation.title in heads],
        questions=questions, families=tuple(dict.fromkeys(_families(questions))), filters=tuple(_filters(questions)),
        found=tuple(_found(finding) for finding in record.search.findings), search=search_line(record),
        anchor_of=anchor_of, anchors=_anchors(questions), direction_text=direction_text,
        topology_words=TOPOLOGY_WORDS, capabilities=capability_line(record), again=repeat_command(record),
        pairs=pair_matrices(record), pair_legend=PAIR_LEGEND, pair_text=entry_text, bytes_text=bytes_text,
        status=status_line(record), near_misses=near_misses(record),
        around={one.letter: one for one in record.environments},
    )  # fmt: skip


def _families(questions: Sequence[Question]) -> Iterator[str]:
    return (asked.family for question in questions for asked in question.rows)


def _anchors(questions: Sequence[Question]) -> dict[str, str]:
    """Cell id -> where its row stands."""
    rows = [asked for question in questions for asked in question.rows]
    return {cell_id: asked.anchor for asked in rows for cell_id in asked.row.cell_ids}


def _filters(questions: Sequence[Question]) -> Iterator[Filter]:
    """Axes with a choice."""
    pairs = {pair for question in questions for asked in question.rows for pair in asked.axes}
    for axis in AXES:
        values = tuple(sorted(value for name, value in pairs if name == axis))
        if len(values) > 1:
            yield Filter(axis, values)


def _found(finding: Finding) -> Found:
    question = PROPERTIES[finding.property_id].question if finding.property_id in PROPERTIES else ""
    return Found(finding, question, proof_of(finding.witness, finding.promised))
