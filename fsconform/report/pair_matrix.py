"""Who sees whom how late: a run with more than two sites as a table of directions, never both ways in one figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsconform.report.digest import WORST_FIRST, promised_text, seen_text
from fsconform.vocabulary.cells import ALL_SITES
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult, Verdict

PROPERTY, STATE, OBSERVER = "visibility.create", "missed", "stat"
"""The question of the matrix: a name that was looked up and not there is published."""
LEGEND = "Down: the site that publishes. Across: the site that had looked before and looks again."


@dataclass(frozen=True, slots=True)
class PairEntry:
    """One direction."""

    seen: str
    promised: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class PairMatrix:
    """One question over all ordered pairs of sites."""

    name: str
    """The cell id without its direction."""
    letters: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PairEntry | None, ...]], ...]
    """Publishing site -> one entry per site that looks; None for itself and where nothing was measured."""


def pair_matrices(record: RunRecord) -> tuple[PairMatrix, ...]:
    """One per way of publishing and age; none for fewer than three sites."""
    letters = tuple(site.letter for site in record.sites)
    if len(letters) < 3:
        return ()
    groups: dict[str, dict[str, CellResult]] = {}
    for result in _asked(record):
        name = result.cell.id.removesuffix(f"/{result.cell.direction}")
        groups.setdefault(name, {})[result.cell.direction] = result
    return tuple(PairMatrix(name, letters, tuple(_rows(letters, found))) for name, found in groups.items())


def _asked(record: RunRecord) -> Iterator[CellResult]:
    for result in record.cells:
        cell = result.cell
        asked = cell.property_id == PROPERTY and cell.axis("state") == STATE and cell.axis("observer") == OBSERVER
        if asked and cell.direction != ALL_SITES and cell.acting != cell.observing:
            yield result


def _rows(letters: tuple[str, ...], found: dict[str, CellResult]) -> Iterator[tuple[str, tuple[PairEntry | None, ...]]]:
    for acting in letters:
        yield acting, tuple(_entry(found.get(f"{acting}-{observing}")) for observing in letters)


def _entry(result: CellResult | None) -> PairEntry | None:
    if result is None:
        return None
    seen = seen_text((result,)) if result.observation.informative else "nothing seen"
    return PairEntry(seen, promised_text(result.promise), result.verdict)


def flagged(entry: PairEntry) -> bool:
    """Whether the verdict must be told beside the figure."""
    return entry.verdict in WORST_FIRST[:2]


def entry_text(entry: PairEntry | None, itself: bool) -> str:
    """`5.00 s, max 5.01 s`; with the verdict where it is bad or missing; `-` for a site and itself."""
    if entry is None:
        return "-" if itself else "not measured"
    return f"{entry.seen} ({entry.verdict.value})" if flagged(entry) else entry.seen
