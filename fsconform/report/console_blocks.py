"""Violations on the terminal: the first of each property in full, the others with what differs."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fsconform.report.accusations import Accusation, first_titles
from fsconform.report.console_tables import KEY_WIDTH, STYLES, copyable, facts_grid
from fsconform.report.witnesses import Moment, timeline_line
from fsconform.vocabulary.verdicts import Verdict

_FIRST, _LAST = 9, 3
"""How many events of a long timeline are shown: its start and its end."""
_PROGRAM_LINES = 8


def accusation_blocks(accusations: tuple[Accusation, ...]) -> Iterator[RenderableType]:
    """A block per violation."""
    in_full = first_titles(accusations)
    for number, accusation in enumerate(accusations):
        if number:
            yield Text()
        yield Text.assemble("  ", (accusation.title, STYLES[Verdict.VIOLATED]))
        yield from _full(accusation) if accusation.title in in_full else _short(accusation)
        yield copyable("again", accusation.again)


def _short(accusation: Accusation) -> Iterator[RenderableType]:
    rows = [
        ("expected", accusation.expected), ("got", accusation.got), ("site", accusation.roles),
        ("sequence", timeline_line(accusation.timeline)),
    ]  # fmt: skip
    yield facts_grid((key, text) for key, text in rows if text)


def _full(accusation: Accusation) -> Iterator[RenderableType]:
    rows = [
        ("asked", accusation.question), ("expected", accusation.expected), ("source", accusation.source),
        ("got", accusation.got), ("witness", accusation.story), ("site", accusation.where),
        ("breaks", accusation.breaks),
    ]  # fmt: skip
    program = accusation.program[:_PROGRAM_LINES]
    rows += [("sequence" if number == 0 else "", line) for number, line in enumerate(program)]
    if more := len(accusation.program) - len(program):
        rows.append(("", f"… {more} more lines in the report"))
    yield facts_grid((key, text) for key, text in rows if text)
    if accusation.timeline:
        yield Padding(_timeline(accusation.timeline), (0, 0, 0, KEY_WIDTH + 4))


def _timeline(moments: tuple[Moment, ...]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", ratio=3)
    grid.add_column(overflow="fold", ratio=1)
    omitted = len(moments) - _FIRST - _LAST
    shown = moments if omitted <= 0 else moments[:_FIRST]
    for moment in shown:
        grid.add_row(*map(Text, (moment.when, moment.where, moment.what, moment.result)))
    if omitted > 0:
        grid.add_row(Text("…"), Text(), Text(f"{omitted} more events in the report", style="dim"), Text())
        for moment in moments[-_LAST:]:
            grid.add_row(*map(Text, (moment.when, moment.where, moment.what, moment.result)))
    return grid
