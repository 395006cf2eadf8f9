"""Tables of the terminal report. Cells are rich Text, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fsconform.report.applications import APPLICATION_STYLES, application_rows
from fsconform.report.asides import cure_rows, shot_delays, shot_rows
from fsconform.report.digest import Family, families_of
from fsconform.report.pair_matrix import LEGEND as PAIR_LEGEND
from fsconform.report.pair_matrix import PairEntry, entry_text, pair_matrices
from fsconform.vocabulary.applications import ApplicationVerdict
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import Verdict

STYLES = {
    Verdict.VIOLATED: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.KEPT: "green",
    Verdict.OBSERVED: "cyan",
    Verdict.NOT_APPLICABLE: "dim",
}
KEY_WIDTH = 10
WIDE = 110
"""Columns from which on the table also shows the age of cache entries."""
_VERDICT = 18
_INDENT, _SEEN, _AGE, _NARROW_PROMISE = 2, 20, 14, 12
"""Columns: before all tables; at least for what was seen, where there is room; for ages; at most for promises."""
MODEL = "measured on a model"
_LEGEND = (
    "A row without a direction covers all of them. Times: median since the change, longest of all;"
    " at once: no look after it missed."
)


def facts_grid(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Keys on the left, texts wrapped on the right."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=KEY_WIDTH)
    grid.add_column(overflow="fold")
    for key, text in rows:
        grid.add_row(Text(key), Text(text))
    return Padding(grid, (0, 0, 0, 2))


def cell_tables(record: RunRecord, width: int) -> Iterator[RenderableType]:
    """One heading and one table per family; all tables share their column widths."""
    families = families_of(record)
    widths = _column_widths(families, width)
    for number, family in enumerate(families):
        yield Text()
        yield _heading(family, record)
        yield Padding(_family_table(family, widths, width, header=number == 0), (0, 0, 0, 2))
    if families:
        yield Text()
        yield Text(_LEGEND, style="dim")


def _heading(family: Family, record: RunRecord) -> Text:
    tally = [(f"{family.counts[verdict]:,} {verdict.value}", STYLES[verdict]) for verdict in STYLES]
    words = [part for part in tally if not part[0].startswith("0 ")]
    heading = Text("  ").join([Text(family.name, style="bold"), *(Text(*word) for word in words)])
    return heading.append(_model_suffix(record), style="dim")


def _column_widths(families: tuple[Family, ...], width: int) -> tuple[int, int, int]:
    """Of verdict, cell and promise; what remains is for what was seen."""
    rows = [row for family in families for row in family.rows]
    verdict = max(map(len, ["verdict", *(row.verdict.value for row in rows)]))
    promise = max(map(len, ["promised", *(row.promised for row in rows)]))
    cell = max(map(len, ["cell", *(row.name for row in rows)]))
    if width < WIDE:
        promise = min(promise, _NARROW_PROMISE)
    rest = width - _INDENT - verdict - promise - 3 * _gap(width) - (_AGE + _gap(width) if width >= WIDE else 0)
    return verdict, min(cell, max(rest - _SEEN, rest // 2)), promise


def _gap(width: int) -> int:
    return 2 if width >= WIDE else 1


def _family_table(family: Family, widths: tuple[int, int, int], width: int, header: bool) -> Table:
    gap = (0, _gap(width), 0, 0)
    table = Table(box=None, show_header=header, header_style="dim", padding=gap, pad_edge=False)
    for title, column in zip(("verdict", "cell", "promised"), widths, strict=True):
        table.add_column(title, width=column, overflow="fold")
    if width >= WIDE:
        table.add_column("age of entry", width=_AGE, overflow="fold")
    table.add_column("seen", overflow="fold")
    for row in family.rows:
        cells = [
            Text(row.verdict.value, style=STYLES[row.verdict]),
            Text(_broken_at_slash(row.name, widths[1])),
            Text(row.promised),
        ]
        if width >= WIDE:
            cells.append(Text(row.since_prime))
        table.add_row(*cells, Text(row.seen.replace(" at 95 %", "")))
    return table


def _broken_at_slash(name: str, width: int) -> str:
    """A cell's name in lines of at most `width`, broken after slashes where there are any."""
    lines = [""]
    for word in name.split("/"):
        if lines[-1] and len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] += f"{word}/"
    return "\n".join(lines).removesuffix("/")


def application_table(verdicts: Sequence[ApplicationVerdict]) -> Iterator[RenderableType]:
    """What all this means for real stores, worst first; nothing where nothing was decided."""
    if not verdicts:
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(max_width=_VERDICT, overflow="fold")
    table.add_column(overflow="fold")
    for row in application_rows(verdicts):
        told = "; ".join(filter(None, (row.why, row.deciding, row.cure and f"cure: {row.cure}")))
        verdict = Text(row.verdict.partition(":")[0], style=APPLICATION_STYLES[row.safety])
        table.add_row(verdict, Text.assemble(row.title, (f"\n{told} ({row.evidence})", "dim")))
    yield from title("What that means for applications")
    yield Padding(table, (0, 0, 0, 2))


def title(text: str) -> Iterator[RenderableType]:
    """A heading with a line of air above it."""
    yield Text()
    yield Text(text, style="bold")


def copyable(key: str, text: str) -> Text:
    """A line of a grid that is never wrapped: it is there to be copied."""
    return Text.assemble((f"  {key:{KEY_WIDTH}}  ", "dim"), text, no_wrap=True)


def _plain_table(*columns: str) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    return table


def _model_suffix(record: RunRecord) -> str:
    return f" ({MODEL})" if record.model_note else ""


def pair_tables(record: RunRecord) -> Iterator[RenderableType]:
    """Who sees whom how late; nothing for fewer than three sites."""
    matrices = pair_matrices(record)
    for matrix in matrices:
        table = _plain_table("", *matrix.letters)
        for acting, entries in matrix.rows:
            table.add_row(Text(acting), *(_pair(entry, acting == seen_by)
                                          for entry, seen_by in zip(entries, matrix.letters, strict=True)))  # fmt: skip
        yield from title(f"Who sees whom how late: {matrix.name}{_model_suffix(record)}")
        yield Padding(table, (0, 0, 0, 2))
    if matrices:
        yield Text(PAIR_LEGEND, style="dim")


def _pair(entry: PairEntry | None, itself: bool) -> Text:
    return Text(entry_text(entry, itself), style=STYLES[entry.verdict] if entry else "dim")


def cure_table(record: RunRecord) -> Iterator[RenderableType]:
    """What made stale names fresh, beside what time alone did; nothing where nothing was tried."""
    rows = cure_rows(record.cells)
    if not rows:
        return
    table = _plain_table("cell", "cure", "cured", "untouched", "side effects")
    for row in rows:
        table.add_row(*map(Text, (row.cell_id, row.name, row.cured, row.control, row.side_effects)))
    yield from title("What cures a stale look, beside untouched names" + _model_suffix(record))
    yield Padding(table, (0, 0, 0, 2))


def shot_table(record: RunRecord) -> Iterator[RenderableType]:
    """Observers that looked once only, after a delay; nothing where there are none."""
    rows = shot_rows(record.cells)
    if not rows:
        return
    delays = shot_delays(rows)
    table = _plain_table("cell", *(f"{delay} s" for delay in delays))
    for row in rows:
        table.add_row(Text(row.cell_id), *(Text(row.shots.get(delay, "")) for delay in delays))
    yield from title("Seen by those who looked once, by delay" + _model_suffix(record))
    yield Padding(table, (0, 0, 0, 2))
