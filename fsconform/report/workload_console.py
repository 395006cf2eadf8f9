"""A workload on the terminal: the verdict, whose fault each failure was, then the counters."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fsconform.report.console_tables import KEY_WIDTH, application_table, copyable, facts_grid, title
from fsconform.report.escaping import visible
from fsconform.report.numbers import bytes_text
from fsconform.report.verdict_text import TOPOLOGY_WORDS
from fsconform.report.witnesses import Moment
from fsconform.report.workload_text import (
    columns_of,
    counter_rows,
    errno_rows,
    fact_rows,
    findings_of,
    log_lines,
    story_of,
    workload_sentence,
)
from fsconform.vocabulary.workload_records import WorkloadRecord
from fsconform.vocabulary.workloads import Box, EpisodeResult

BOX_STYLES = {
    Box.BROKE: "bold red", Box.WITHIN: "yellow", Box.APPLICATION: "yellow", Box.CONFIGURATION: "yellow",
    Box.GAP: "cyan",
}  # fmt: skip
_WORDS = {
    0: ("KEPT", "green"),
    1: ("VIOLATED", "bold red"),
    4: ("INCONCLUSIVE", "yellow"),
    130: ("INTERRUPTED", "yellow"),
}


def print_workload(record: WorkloadRecord, written: Sequence[Path] = (), console: Console | None = None) -> None:
    """Print the report; `written` are its files. No text of a filesystem reaches the terminal with markup."""
    out = console or Console()
    for part in _parts(record, written):
        whole = isinstance(part, Text) and part.no_wrap is True
        out.print(part, soft_wrap=whole, highlight=False, markup=False)


def workload_text(record: WorkloadRecord, width: int = 100) -> str:
    """The same as text without colours."""
    out = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    with out.capture() as captured:
        print_workload(record, (), out)
    return captured.get()


def _parts(record: WorkloadRecord, written: Sequence[Path]) -> Iterator[RenderableType]:
    yield Text()
    yield _verdict(record)
    yield from application_table(record.applications)
    yield Text()
    yield facts_grid(_facts(record))
    for result in record.results:
        yield from _episode(result)
    yield from title("Beside the replays")
    yield facts_grid(_remarks(record))
    yield copyable("again", visible(record.command))
    for path in written[:1]:
        yield copyable("report", visible(str(path.parent)))
    yield Text()
    yield _verdict(record)


def _verdict(record: WorkloadRecord) -> RenderableType:
    word, style = _WORDS[record.exit_status]
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text(word, style=style, no_wrap=True), Text(workload_sentence(record)))
    return grid


def _facts(record: WorkloadRecord) -> list[tuple[str, str]]:
    rows = [("store", f"{visible(record.personality)}: {visible(record.title)}"),
            ("profile", f"{visible(record.profile)}: {visible(record.profile_title)}")]  # fmt: skip
    by_letter = {site.letter: site for site in record.sites}
    for part, letter in record.parts.items():
        site = by_letter[letter]
        place = f"site {letter}, {visible(site.spec.text)} at {visible(site.path)}"
        rows.append((part, f"{place} ({visible(site.mount.fstype)} {visible(site.mount.source)})"))
    rows += [("topology", f"{direction}: {kind} ({TOPOLOGY_WORDS.get(kind, '?')})")
             for direction, kind in record.topologies.items()]  # fmt: skip
    rows += [("bounds" if k == 0 else "", visible(bound)) for k, bound in enumerate(record.bounds)]
    if record.peak_bytes:
        rows.append(("controller", f"{bytes_text(record.peak_bytes)} of memory at its peak"))
    if record.model_note:
        rows.append(("model", visible(record.model_note)))
    return rows


def _episode(result: EpisodeResult) -> Iterator[RenderableType]:
    setup = result.episode.setup
    yield from title(setup.label.replace("/", ", "))
    if result.skipped:
        yield facts_grid([("not played", visible(result.skipped))])
        return
    met = sum(entry.met for entry in result.expectations)
    rows = [("story", story_of(result)), ("expected", f"{met} of {len(result.expectations)} as expected")]
    rows += [("", f"{visible(e.name)}: {visible(e.expected)} expected, {visible(e.got)} found")
             for e in result.expectations if not e.met]  # fmt: skip
    rows += list(fact_rows(result))
    rows += [("log" if k == 0 else "", line) for k, line in enumerate(log_lines(result))]
    yield facts_grid(rows)
    for finding in findings_of(result):
        yield Text()
        yield Text.assemble("  ", (finding.box.value, BOX_STYLES[finding.box]), ": ", finding.title)
        yield facts_grid([(key, text) for key, text in (("why", finding.why), ("cure", finding.cure)) if text])
        if finding.timeline:
            yield Padding(_timeline(finding.timeline), (0, 0, 0, KEY_WIDTH + 4))
    yield Text()
    yield Padding(_counters(result), (0, 0, 0, 2))


def _timeline(moments: tuple[Moment, ...]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=3)
    grid.add_column(overflow="fold", ratio=1)
    for moment in moments:
        grid.add_row(*map(Text, (moment.when, moment.where, moment.what, moment.result)))
    return grid


def _counters(result: EpisodeResult) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(Text("counter"), no_wrap=True)
    for column in columns_of(result):
        table.add_column(Text(column), overflow="fold", justify="right")
    for name, *values in counter_rows(result):
        table.add_row(Text(name.removeprefix("vllm:kv_offload_tiering_")), *map(Text, values))
    for row in errno_rows(result):
        table.add_row(*map(Text, row))
    return table


def _remarks(record: WorkloadRecord) -> list[tuple[str, str]]:
    notes = tuple(dict.fromkeys(note for result in record.results for note in result.notes))
    rows: list[tuple[str, str]] = []
    for key, lines in (
        ("note", notes), ("incident", record.incidents), ("left over", record.left_behind),
        ("blind spot", record.blind_spots), ("to settle", (record.how_to,) if record.how_to else ()),
    ):  # fmt: skip
        rows += [(key if k == 0 else "", visible(line)) for k, line in enumerate(lines)]
    return rows
