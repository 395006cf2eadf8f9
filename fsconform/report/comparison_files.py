"""A comparison as files: compare.md and compare.html for people, compare.json for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fsconform.report.comparison import ComparedRow, Comparison, Entry, Kind
from fsconform.report.comparison_facts import Fact
from fsconform.report.comparison_text import (
    APPLICATIONS,
    LEGEND,
    alike_line,
    entry_lines,
    heading,
    model_lines,
    models_aside,
)
from fsconform.report.escaping import markdown_code, markdown_text
from fsconform.vocabulary.errors import CannotTestError

SCHEMA = "fsconform-comparison/1"
"""Changes when a reader of the old form would misread the new one; fields may be added without."""


def write_comparison(comparison: Comparison, directory: Path) -> tuple[Path, ...]:
    """Write compare.md, compare.html and compare.json into `directory` (made if missing).

    Raises CannotTestError where that cannot be done.
    """
    from fsconform.report.html.comparison_page import comparison_html

    texts = {
        "compare.md": comparison_markdown(comparison), "compare.html": comparison_html(comparison),
        "compare.json": comparison_json(comparison),
    }  # fmt: skip
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            temporary = directory / f".{name}.{os.getpid()}.tmp"
            temporary.write_text(text, "utf-8")
            temporary.replace(directory / name)
    except OSError as error:
        raise CannotTestError(f"{directory}: the comparison cannot be written: {error.strerror or error}") from None
    return tuple(directory / name for name in texts)


def comparison_json(comparison: Comparison) -> str:
    """The text of compare.json."""
    return json.dumps(comparison_object(comparison), indent=1, allow_nan=False) + "\n"


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """The same as plain objects. Seconds; `kind` is why a row stands where it stands, most telling first."""
    return {
        "schema": SCHEMA,
        "runs": [
            {"label": run.label, "report": run.path, "verdict": run.verdict, "sentence": run.sentence,
             "model_note": run.model_note}
            for run in comparison.runs
        ],
        "applications": [_fact(fact) for fact in comparison.applications],
        "environment": [_fact(fact) for fact in comparison.facts],
        "cells": [
            {"cell": row.name, "kind": row.kind.name.lower(), "runs": [_entry(entry) for entry in row.entries]}
            for row in comparison.rows
        ],
        "search": [_fact(fact) for fact in comparison.findings],
    }  # fmt: skip


def _fact(fact: Fact) -> dict[str, Any]:
    return {"name": fact.name, "differs": fact.differs, "values": list(fact.values)}


def _entry(entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return {
        "verdict": entry.verdict.value, "promise": entry.promised, "seen": entry.seen, "lo_s": entry.lo_s,
        "hi_s": entry.hi_s, "ratio": entry.ratio, "directions": list(entry.directions),
    }  # fmt: skip


def comparison_markdown(comparison: Comparison) -> str:
    """The text of compare.md."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    labels = [markdown_text(run.label) for run in comparison.runs]
    yield f"# {' and '.join(labels)} compared"
    yield ""
    for run in comparison.runs:
        label, sentence = markdown_text(run.label), markdown_text(run.sentence)
        yield f"- **{label}**: {run.verdict}. {sentence} {markdown_code(run.path)}"
    yield from _notes(model_lines(comparison))
    if comparison.applications:
        yield from _section(f"{APPLICATIONS}{models_aside(comparison)}")
        yield from _table(("store", *labels), map(_verdict_row, comparison.applications))
    yield from _section("How their environments differ")
    if any(fact.differs for fact in comparison.facts):
        yield from _table(("", *labels), (_fact_row(fact) for fact in comparison.facts if fact.differs))
        yield ""
    yield f"Alike: {markdown_text(alike_line(comparison))}."
    for kind in Kind:
        rows = comparison.of_kind(kind)
        if rows:
            yield from _section(heading(kind, rows, comparison))
            yield from _table(("property and axes", *labels), map(_row, rows))
    if comparison.findings:
        yield from _section(f"Found by the search{models_aside(comparison)}")
        yield from _table(("finding", *labels), map(_fact_row, comparison.findings))
    yield ""
    yield markdown_text(LEGEND)


def _notes(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield ""
        yield f"> **A model.** {markdown_text(line)}"


def _section(text: str) -> Iterator[str]:
    yield from ("", f"## {markdown_text(text)}", "")


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _fact_row(fact: Fact) -> list[str]:
    return [markdown_text(fact.name), *map(markdown_code, fact.values)]


def _verdict_row(fact: Fact) -> list[str]:
    return [*map(markdown_text, (fact.name, *fact.values))]


def _row(row: ComparedRow) -> list[str]:
    return [markdown_code(row.name), *map(_cell, row.entries)]


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "-"
    promised, seen, verdict = entry_lines(entry)
    return f"**{verdict}**, {markdown_text(promised)}<br>{markdown_text(seen)}"
