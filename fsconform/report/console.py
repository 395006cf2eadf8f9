"""The report on a terminal: the verdict, what was tested, a table by family, then what was found, worst first."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from fsconform.report.accusations import accusations_of
from fsconform.report.asides import capability_line, near_misses, search_line
from fsconform.report.console_blocks import accusation_blocks
from fsconform.report.console_tables import (
    STYLES,
    application_table,
    cell_tables,
    copyable,
    cure_table,
    facts_grid,
    pair_tables,
    shot_table,
    title,
)
from fsconform.report.escaping import visible
from fsconform.report.numbers import bytes_text, count_text
from fsconform.report.verdict_text import TOPOLOGY_WORDS, sentence
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import Verdict

_PLAIN = str.maketrans({"…": "...", "→": "->", "µ": "u", "–": "-", "—": "-", "·": "-", "≤": "<="})
"""For terminals that cannot show them."""


def print_report(record: RunRecord, written: Sequence[Path] = (), console: Console | None = None) -> None:
    """Print the report, the verdict again at its end; `written` are its files. The exit status is the caller's to say.

    No text of a filesystem or a user reaches the terminal with markup or control characters. An output that is not
    UTF-8 gets plain substitutes.
    """
    out = console or Console()
    text = _rendered(record, out, written)
    if not out.encoding.lower().startswith("utf"):
        text = text.translate(_PLAIN).encode(out.encoding, "replace").decode(out.encoding)
    out.file.write(text)
    out.file.flush()


def report_text(record: RunRecord, width: int = 80, written: Sequence[Path] = ()) -> str:
    """The same as text without colours, for files and logs."""
    out = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    return _rendered(record, out, written)


def _rendered(record: RunRecord, out: Console, written: Sequence[Path]) -> str:
    with out.capture() as captured:
        for part in _parts(record, out.width, written):
            # A command to copy must not be broken into lines: the terminal wraps it itself.
            whole = isinstance(part, Text) and part.no_wrap is True
            out.print(part, soft_wrap=whole, highlight=False, markup=False)
    return "".join(f"{line.rstrip(' ')}\n" for line in captured.get().splitlines())


def _run_style(record: RunRecord) -> str:
    return STYLES[Verdict.INCONCLUSIVE] if record.interrupted else STYLES[record.verdict]


def _verdict_line(record: RunRecord) -> RenderableType:
    word = "interrupted" if record.interrupted else record.verdict.value
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text(word.upper(), style=_run_style(record), no_wrap=True), Text(sentence(record)))
    return grid


def _parts(record: RunRecord, width: int, written: Sequence[Path]) -> Iterator[RenderableType]:
    yield Text()
    yield _verdict_line(record)
    yield from application_table(record.applications)
    yield Text()
    yield facts_grid(_facts(record))
    yield from cell_tables(record, width)
    yield from pair_tables(record)
    yield from _violations(record)
    yield from _undecided(record)
    yield from cure_table(record)
    yield from shot_table(record)
    yield from title("Beside the cells")
    yield facts_grid(_remarks(record))
    for path in written[:1]:
        yield copyable("report", visible(str(path.parent)))
    yield Text()
    yield _verdict_line(record)


def _facts(record: RunRecord) -> list[tuple[str, str]]:
    facts = [("profile", f"{visible(record.profile)}: {visible(record.profile_title)}".removesuffix(": "))]
    for site in record.sites:
        spec, path, mount = visible(site.spec.text), visible(site.path), site.mount
        place = spec if spec == path else f"{spec} at {path}"
        access = "read-only" if site.read_only else f"{bytes_text(site.free_bytes)} free"
        facts.append((f"site {site.letter}", f"{place} ({access})"))
        options = visible(mount.options).replace(",", ", ")
        facts.append(("", f"{visible(mount.fstype)} {visible(mount.source)}"))
        facts.append(("", options))
    facts += [("topology", text) for text in _topologies(record)]
    facts += [("bounds" if k == 0 else "", visible(bound)) for k, bound in enumerate(record.bounds)]
    work = f"{record.duration_s:.0f} s, {count_text(record.operations, 'operation')}"
    run = f"{visible(record.budget)}, seed {record.seed}, {work}, fsconform {visible(record.version)}"
    facts.append(("run", run))
    if record.model_note:
        facts.append(("model", visible(record.model_note)))
    return facts


def _topologies(record: RunRecord) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for direction, kind in record.topologies.items():
        kinds.setdefault(kind, []).append(direction)
    return [
        f"{', '.join(map(visible, names))}: {visible(kind)} ({TOPOLOGY_WORDS.get(kind, '?')})"
        for kind, names in kinds.items()
    ]


def _violations(record: RunRecord) -> Iterator[RenderableType]:
    accusations = accusations_of(record)
    if accusations:
        yield from title("What is violated")
        yield from accusation_blocks(accusations)


def _undecided(record: RunRecord) -> Iterator[RenderableType]:
    rows = [
        (result.cell.id, visible(result.judgement.reason))
        for result in record.cells
        if result.verdict is Verdict.INCONCLUSIVE
    ]
    if rows:
        yield from title("What is undecided")
        for cell_id, reason in rows:
            yield Text.assemble(("  " + cell_id, STYLES[Verdict.INCONCLUSIVE]))
            yield facts_grid([("", reason)])


def _remarks(record: RunRecord) -> list[tuple[str, str]]:
    rows = [("calls", capability_line(record))] if record.capabilities else []
    rows.append(("search", search_line(record)))
    rows += [
        ("", f"{visible(found.kind)} ({found.property_id}, not promised): {visible(found.story)}")
        for found in record.search.findings
        if not found.promised
    ]
    for key, lines in (
        ("near miss", near_misses(record)), ("incident", record.incidents), ("left over", record.left_behind),
        ("blind spot", record.blind_spots), ("to settle", (record.how_to,) if record.how_to else ()),
    ):  # fmt: skip
        rows += [(key if k == 0 else "", visible(line)) for k, line in enumerate(lines)]
    return rows
