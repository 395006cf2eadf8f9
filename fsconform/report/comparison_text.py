"""The words that all formats of a comparison share."""

from __future__ import annotations

from fsconform.report.comparison import MUCH, ComparedRow, Comparison, Entry, Kind
from fsconform.report.comparison_facts import MODEL
from fsconform.report.numbers import count_text

APPLICATIONS = "What that means for applications"
LEGEND = (
    "Each entry: verdict and promise, then what was seen, in the worst direction. [lo, hi]: half of the trials still"
    " missed at lo, and had seen it by hi; max: the longest; at once: no look after the change missed; x 2.0: against"
    " the first run that saw it late."
)


def entry_lines(entry: Entry) -> tuple[str, str, str]:
    """What was promised, what was seen (with the ratio), the verdict."""
    alike = entry.ratio is None or 1 / MUCH < entry.ratio < MUCH
    ratio = "" if alike else f", x {entry.ratio:.2g}"
    return entry.promised, f"{entry.seen}{ratio}", entry.verdict.value


def heading(kind: Kind, rows: tuple[ComparedRow, ...], comparison: Comparison) -> str:
    """`Different verdicts: 3 cells (3fs-fuse is a model)`."""
    told = f"{kind.value[:1].upper()}{kind.value[1:]}: {count_text(len(rows), 'cell')}"
    return f"{told}{models_aside(comparison)}"


def models_aside(comparison: Comparison) -> str:
    """What every table of figures says where a run measured a model; empty where none did."""
    labels = [run.label.removesuffix(MODEL) for run in comparison.models]
    if not labels:
        return ""
    return f" ({', '.join(labels)}: {'measured on a model' if len(labels) == 1 else 'measured on models'})"


def model_lines(comparison: Comparison) -> tuple[str, ...]:
    """One line per model: the runs that measured it, and what a reader must know."""
    notes: dict[str, list[str]] = {}
    for run in comparison.models:
        notes.setdefault(run.model_note, []).append(run.label.removesuffix(MODEL))
    return tuple(f"{', '.join(labels)}: {note}" for note, labels in notes.items())


def alike_line(comparison: Comparison) -> str:
    """The facts that all runs share, in one line."""
    same = [f"{fact.name} {fact.values[0]}" for fact in comparison.facts if not fact.differs and fact.values[0]]
    return "; ".join(same).replace(",", ", ") or "nothing"


def split_name(row: ComparedRow) -> tuple[str, str]:
    """Property, and axis values."""
    property_id, _, axes = row.name.partition("/")
    return property_id, axes
