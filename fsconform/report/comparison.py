"""Runs side by side: what differs between them, and how much, as records for every format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations

from fsconform.report.comparison_facts import Fact, applications_of, facts_of, findings_of, labels_of
from fsconform.report.curves import Curve
from fsconform.report.digest import WORST_FIRST
from fsconform.report.escaping import visible
from fsconform.report.numbers import duration_text
from fsconform.report.reading import ReadCell, ReadReport, SeenInterval
from fsconform.vocabulary.errors import CannotTestError
from fsconform.vocabulary.promises import Strength
from fsconform.vocabulary.verdicts import Verdict

MUCH = 1.25
"""From which ratio on two latencies differ: less is noise of a busy machine."""
AT_ONCE = "at once"


class Kind(Enum):
    """How the runs of a row differ, the most telling first."""

    VERDICT = "different verdicts"
    SEEN = "seen differently"
    PROMISED = "seen alike, but promised differently"
    PARTIAL = "not measured in every run"
    ALIKE = "alike"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one run says about one row: the worst of its directions. Texts are printable, one line."""

    promised: str
    seen: str
    verdict: Verdict
    lo_s: float | None = None
    hi_s: float | None = None
    """The median interval of latency cells, seconds."""
    ratio: float | None = None
    """Latency in relation to the first run that has one."""
    directions: tuple[str, ...] = ()
    unseen: bool = False
    """The median trial never saw the change."""
    curve: Curve | None = None
    promised_s: float | None = None
    """Bound of the curve's direction, 0 for at once; None where nothing is promised about a time."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """A property under one setting of its axes; `entries` has one place per run, None where it was not measured."""

    name: str
    kind: Kind
    entries: tuple[Entry | None, ...]


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One column."""

    label: str
    """Short, and different from that of every other run."""
    path: str
    verdict: str
    sentence: str
    model_note: str
    """Not empty where the run measured a model."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side, rows that differ first."""

    runs: tuple[ComparedRun, ...]
    facts: tuple[Fact, ...]
    rows: tuple[ComparedRow, ...]
    findings: tuple[Fact, ...]
    """Kinds of findings of the search, with their rate in each run."""
    applications: tuple[Fact, ...]
    """Stores, with the verdict of each run."""

    @property
    def models(self) -> tuple[ComparedRun, ...]:
        """Runs of models of filesystems."""
        return tuple(run for run in self.runs if run.model_note)

    def of_kind(self, kind: Kind) -> tuple[ComparedRow, ...]:
        """The rows that differ in this way."""
        return tuple(row for row in self.rows if row.kind is kind)


def compare(reports: Sequence[ReadReport]) -> Comparison:
    """Raises CannotTestError for fewer than two reports."""
    if len(reports) < 2:
        raise CannotTestError("a comparison needs two reports or more: fsconform compare RUN RUN [RUN...]")
    names = dict.fromkeys(cell.name for report in reports for cell in report.cells)
    rows = [_row(name, [[cell for cell in report.cells if cell.name == name] for report in reports]) for name in names]
    order = list(Kind)
    return Comparison(
        tuple(_run(report, label) for report, label in zip(reports, labels_of(reports), strict=True)),
        facts_of(reports),
        tuple(sorted(rows, key=lambda row: order.index(row.kind))),
        findings_of(reports),
        applications_of(reports),
    )


def _run(report: ReadReport, label: str) -> ComparedRun:
    verdict = "interrupted" if report.interrupted else report.verdict.value
    return ComparedRun(label, visible(report.path), verdict, visible(report.sentence), visible(report.model_note))


def _row(name: str, cells: Sequence[Sequence[ReadCell]]) -> ComparedRow:
    found = [_entry(group) if group else None for group in cells]
    base = next((_middle(entry) for entry in found if entry and _middle(entry)), None)
    entries = tuple(_with_ratio(entry, base) for entry in found)
    return ComparedRow(visible(name), _kind([entry for entry in entries if entry], len(entries)), entries)


def _entry(cells: Sequence[ReadCell]) -> Entry:
    """The worst direction speaks: the worst verdict, then the latest sight."""
    worst = min(cells, key=lambda cell: (WORST_FIRST.index(cell.verdict), -_lateness(cell)))
    latest = max(cells, key=_lateness)
    seen = latest.latency
    return Entry(
        _promised(worst), _seen(worst if seen is None else latest), worst.verdict,
        seen.lo if seen and seen.missed else None, seen.hi if seen and seen.missed else None,
        directions=tuple(visible(cell.direction) for cell in cells),
        unseen=seen is not None and seen.hi is None, curve=latest.curve, promised_s=_promised_s(latest),
    )  # fmt: skip


def _lateness(cell: ReadCell) -> float:
    if cell.latency is None or not cell.latency.missed:
        return 0.0
    return float("inf") if cell.latency.hi is None else cell.latency.hi


def _promised(cell: ReadCell) -> str:
    if cell.strength is Strength.WITHIN:
        return f"within {cell.bound_s:g} s" if cell.bound_s else AT_ONCE
    if cell.strength is Strength.UNSUPPORTED:
        return f"refused: {visible('|'.join(cell.errnos))}"
    return str(cell.strength.value)


def _promised_s(cell: ReadCell) -> float | None:
    if cell.strength is Strength.WITHIN:
        return cell.bound_s
    return 0.0 if cell.strength is Strength.GUARANTEED else None


def _seen(cell: ReadCell) -> str:
    if cell.refused not in ("", "works"):
        return f"refused: {visible(cell.refused)}"
    if cell.latency is not None:
        return _latency_seen(cell, cell.latency)
    if cell.refused == "works" and not cell.violations:
        return "works"
    if not cell.trials and not cell.violations:
        return "nothing seen"
    return visible(cell.rate).replace(" at 95 %", "")


def _latency_seen(cell: ReadCell, seen: SeenInterval) -> str:
    if not seen.missed:
        return AT_ONCE
    words = []
    if seen.lo is not None and seen.hi is not None:
        words.append(f"[{duration_text(seen.lo)}, {duration_text(seen.hi)}]")
    if seen.longest is not None:
        words.append(f"max {duration_text(seen.longest)}")
    if seen.never:
        words.append(f"{seen.never} of {seen.trials} never")
    if cell.verdict is Verdict.VIOLATED and cell.violations != seen.never:
        words.append(f"{cell.violations} of {cell.trials} late")
    return ", ".join(words)


def _middle(entry: Entry) -> float | None:
    if entry.lo_s is None or entry.hi_s is None:
        return None
    return (entry.lo_s + entry.hi_s) / 2


def _with_ratio(entry: Entry | None, base: float | None) -> Entry | None:
    middle = _middle(entry) if entry else None
    if entry is None or middle is None or not base:
        return entry
    return replace(entry, ratio=middle / base)


def _kind(entries: Sequence[Entry], runs: int) -> Kind:
    verdicts = {entry.verdict for entry in entries}
    if len(verdicts) > 1 and verdicts & {Verdict.VIOLATED, Verdict.INCONCLUSIVE}:
        return Kind.VERDICT
    if any(_differ(first, second) for first, second in combinations(entries, 2)):
        return Kind.SEEN
    if len({entry.promised for entry in entries}) > 1:
        return Kind.PROMISED
    return Kind.ALIKE if len(entries) == runs else Kind.PARTIAL


def _differ(first: Entry, second: Entry) -> bool:
    """Whether two runs saw different things: rates differ by chance, so only their verdicts count."""
    if first.seen.startswith("refused") or second.seen.startswith("refused"):
        return first.seen != second.seen
    if first.unseen or second.unseen:
        return first.unseen != second.unseen
    late, other = _middle(first), _middle(second)
    if late is None or other is None:
        return (late is None) != (other is None) and _is_latency(first) and _is_latency(second)
    return max(late, other) >= MUCH * min(late, other)


def _is_latency(entry: Entry) -> bool:
    return entry.lo_s is not None or entry.seen == AT_ONCE
