"""report.md: the whole report for people, as GitHub renders it; readable without having seen fsconform before."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from fsconform.report.accusations import accusations_of, first_titles
from fsconform.report.applications import application_rows
from fsconform.report.asides import capability_line, cure_rows, near_misses, search_line, shot_delays, shot_rows
from fsconform.report.digest import WORST_FIRST, families_of, outcomes_text
from fsconform.report.escaping import markdown_code, markdown_fence, markdown_text, visible
from fsconform.report.numbers import bytes_text
from fsconform.report.pair_matrix import LEGEND as PAIR_LEGEND
from fsconform.report.pair_matrix import entry_text, pair_matrices
from fsconform.report.verdict_text import (
    TOPOLOGY_WORDS,
    repeat_command,
    sentence,
    status_line,
    verdict_meaning,
)
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import Verdict

MODEL_LINE = "\n*Measured on a model, not on the filesystem that it models (see the top).*\n"
"""Stands at every table of a model."""
_TEMPLATES = Path(__file__).parent / "templates"


class Ready(str):
    """Markdown that is already escaped."""

    __slots__ = ()


def markdown_report(record: RunRecord) -> str:
    """The text of report.md."""
    results = record.cells
    shots, accusations = shot_rows(results), accusations_of(record)
    return template("report.md.j2").render(
        record=record, sentence=sentence(record), meaning=verdict_meaning(record), status=status_line(record),
        families=families_of(record), verdicts=WORST_FIRST, accusations=accusations,
        heads=first_titles(accusations),
        undecided=[result for result in results if result.verdict is Verdict.INCONCLUSIVE],
        cures=cure_rows(results), shots=shots, delays=shot_delays(shots), capabilities=capability_line(record),
        search=search_line(record), unpromised=[found for found in record.search.findings if not found.promised],
        near_misses=near_misses(record), again=repeat_command(record), topology_words=TOPOLOGY_WORDS,
        applications=application_rows(record.applications), pairs=pair_matrices(record), pair_legend=PAIR_LEGEND,
        pair_text=entry_text,
        model_line=Ready(MODEL_LINE if record.model_note else ""),
    )  # fmt: skip


@cache
def template(name: str) -> Template:
    """One of our templates, by its file name."""
    # Every expression is escaped unless a filter has made it Ready: nothing can be forgotten.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), finalize=_escaped, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, autoescape=False,
    )  # fmt: skip
    environment.filters |= {
        "code": lambda text: Ready(markdown_code(str(text))),
        "fence": lambda lines, language="": Ready(markdown_fence(tuple(lines), language)),
        "html": lambda text: Ready(escape(visible(str(text)))),
        "bytes": bytes_text,
        "outcomes": outcomes_text,
    }
    return environment.get_template(name)


def _escaped(value: Any) -> Any:
    return value if isinstance(value, Ready) else markdown_text(str(value))
