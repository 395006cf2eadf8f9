"""A comparison on a terminal: runs, what differs in their environment, then a table per kind of difference."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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
    split_name,
)
from fsconform.report.console_tables import STYLES, facts_grid, title


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Print it. No text of a report reaches the terminal with markup or control characters.

    An output that is not UTF-8 gets plain substitutes.
    """
    out = console or Console()
    text = _rendered(comparison, out)
    if not out.encoding.lower().startswith("utf"):
        text = text.replace("µ", "u").encode(out.encoding, "replace").decode(out.encoding)
    out.file.write(text)
    out.file.flush()


def comparison_text(comparison: Comparison, width: int = 100) -> str:
    """The same as text without colours."""
    return _rendered(comparison, Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False))


def _rendered(comparison: Comparison, out: Console) -> str:
    with out.capture() as captured:
        for part in _parts(comparison):
            out.print(part, highlight=False, markup=False)
    return "".join(f"{line.rstrip(' ')}\n" for line in captured.get().splitlines())


def _parts(comparison: Comparison) -> Iterator[RenderableType]:
    yield from title("Runs")
    yield facts_grid(
        row for run in comparison.runs for row in ((run.label, f"{run.verdict}: {run.sentence}"), ("", run.path))
    )
    yield facts_grid(("model", line) for line in model_lines(comparison))
    if comparison.applications:
        yield from title(f"{APPLICATIONS}{models_aside(comparison)}")
        yield _fact_table(comparison, comparison.applications)
    yield from title("How their environments differ")
    differing = [fact for fact in comparison.facts if fact.differs]
    if differing:
        yield _fact_table(comparison, differing)
    yield facts_grid([("alike", alike_line(comparison))])
    for kind in Kind:
        rows = comparison.of_kind(kind)
        if rows:
            yield from title(heading(kind, rows, comparison))
            yield _row_table(comparison, rows)
    if comparison.findings:
        yield from title(f"Found by the search{models_aside(comparison)}")
        yield _fact_table(comparison, comparison.findings)
    yield Text()
    yield Text(LEGEND, style="dim")


def _table(comparison: Comparison, first: str) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    for name in (first, *(run.label for run in comparison.runs)):
        table.add_column(Text(name), overflow="fold")
    return table


def _fact_table(comparison: Comparison, facts: Sequence[Fact]) -> RenderableType:
    table = _table(comparison, "")
    for fact in facts:
        table.add_row(Text(fact.name), *(Text(value.replace(",", ", ")) for value in fact.values))
    return Padding(table, (0, 0, 0, 2))


def _row_table(comparison: Comparison, rows: Sequence[ComparedRow]) -> RenderableType:
    table = _table(comparison, "property, axes")
    for row in rows:
        table.add_row(Text("\n  ".join(filter(None, split_name(row)))), *map(_cell, row.entries))
    return Padding(table, (0, 0, 0, 2))


def _cell(entry: Entry | None) -> Text:
    if entry is None:
        return Text("-", style="dim")
    promised, seen, verdict = entry_lines(entry)
    return Text.assemble((verdict, STYLES[entry.verdict]), f" {promised}\n{seen}")
