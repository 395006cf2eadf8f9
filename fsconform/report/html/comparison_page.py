"""compare.html: runs side by side in one file, differences first, their curves laid over one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from fsconform.report.comparison import ComparedRow, Comparison, Entry, Kind
from fsconform.report.comparison_text import LEGEND, alike_line, entry_lines, heading, model_lines
from fsconform.report.html.charts import Series, latency_chart
from fsconform.report.html.pages import MOST_BYTES, render
from fsconform.vocabulary.properties import PROPERTIES


@dataclass(frozen=True, slots=True)
class Place:
    """What one run says about one row."""

    verdict: str
    promised: str
    seen: str
    directions: str


@dataclass(frozen=True, slots=True)
class Side:
    """One row of the comparison."""

    property_id: str
    family: str
    question: str
    axes: tuple[str, ...]
    places: tuple[Place | None, ...]
    series: tuple[Series, ...]
    chart: Markup | None

    @property
    def contracts_differ(self) -> bool:
        """Whether the runs were promised different things."""
        return len({place.promised for place in self.places if place}) > 1


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that differ in the same way."""

    kind: Kind
    heading: str
    rows: tuple[Side, ...]


def comparison_html(comparison: Comparison) -> str:
    """The page. Where it would be larger than `MOST_BYTES`, curves of rows that are alike are left out, then all."""
    pages = (_page(comparison, drawn) for drawn in (frozenset(Kind), frozenset(Kind) - {Kind.ALIKE}, frozenset[Kind]()))
    page = next(pages)
    while len(page.encode("utf-8")) > MOST_BYTES and (smaller := next(pages, None)):
        page = smaller
    return page


def _page(comparison: Comparison, drawn: frozenset[Kind]) -> str:
    sections = tuple(_sections(comparison, drawn))
    rows = [side for section in sections for side in section.rows]
    return render(
        "compare.html.j2", comparison=comparison, sections=sections, labels=[run.label for run in comparison.runs],
        contracts=[side for side in rows if side.contracts_differ], legend=LEGEND, alike=alike_line(comparison),
        models=model_lines(comparison), families=tuple(dict.fromkeys(side.family for side in rows)),
    )  # fmt: skip


def _sections(comparison: Comparison, drawn: frozenset[Kind]) -> Iterator[Section]:
    for kind in Kind:
        if rows := comparison.of_kind(kind):
            sides = tuple(_side(comparison, row, kind in drawn) for row in rows)
            yield Section(kind, heading(kind, rows, comparison), sides)


def _side(comparison: Comparison, row: ComparedRow, drawn: bool) -> Side:
    property_id, *axes = row.name.split("/")
    series = tuple(
        Series(run.label, entry.curve, entry.promised_s)
        for run, entry in zip(comparison.runs, row.entries, strict=True)
        if entry and entry.curve
    )
    late = drawn and any(one.curve.missed for one in series)
    return Side(
        property_id, property_id.partition(".")[0],
        PROPERTIES[property_id].question if property_id in PROPERTIES else "", tuple(axes),
        tuple(_place(entry) for entry in row.entries), series, Markup(latency_chart(series)) if late else None,
    )  # fmt: skip


def _place(entry: Entry | None) -> Place | None:
    if entry is None:
        return None
    promised, seen, verdict = entry_lines(entry)
    return Place(verdict, promised, seen, " ".join(entry.directions))
