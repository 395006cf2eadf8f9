"""What a report says beside the table of cells: near misses, capabilities, the search, cures, single looks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fsconform.report.digest import promised_text
from fsconform.report.escaping import visible
from fsconform.report.numbers import count_text, duration_text
from fsconform.vocabulary.records import RunRecord
from fsconform.vocabulary.verdicts import CellResult


def near_misses(record: RunRecord) -> tuple[str, ...]:
    """Kept within the slack only, one line per cell."""
    return tuple(
        f"{result.cell.id}: {count_text(result.judgement.near_misses, 'trial')} of {result.observation.informative}"
        f" missed after {promised_text(result.promise).removeprefix('within ')}, within the slack"
        for result in record.cells
        if result.judgement.near_misses
    )


def capability_line(record: RunRecord) -> str:
    """`link works, rename-noreplace EINVAL, xattr works at a and ENOTSUP at b`."""
    features: dict[str, dict[str, list[str]]] = {}
    for capability in record.capabilities:
        features.setdefault(visible(capability.feature), {}).setdefault(visible(capability.result), []).append(
            visible(capability.site)
        )
    return ", ".join(f"{feature} {_answers(answers)}" for feature, answers in features.items())


def _answers(answers: dict[str, list[str]]) -> str:
    if len(answers) == 1:
        return next(iter(answers))
    return " and ".join(f"{result} at {', '.join(sites)}" for result, sites in answers.items())


def search_line(record: RunRecord) -> str:
    """What the search did and found, one line."""
    search = record.search
    if not search.rounds:
        return "not run"
    contested = f"{100 * search.contested / search.rounds:.0f} % contested"
    work = (
        f"{count_text(search.programs, 'program')}, {count_text(search.rounds, 'round')} ({contested}),"
        f" {count_text(search.operations, 'operation')} in {duration_text(search.seconds)}"
    )
    undecided = f", {count_text(search.undecided, 'round')} undecided" if search.undecided else ""
    found = count_text(len(search.findings), "finding") if search.findings else "nothing found"
    return f"{work}{undecided}: {found}"


@dataclass(frozen=True, slots=True)
class CureRow:
    """What was tried on stale names of one cell."""

    cell_id: str
    name: str
    cured: str
    control: str
    side_effects: str


def cure_rows(results: Iterable[CellResult]) -> tuple[CureRow, ...]:
    """Every cure of every cell, beside its untouched control."""
    return tuple(
        CureRow(
            result.cell.id, visible(cure.name), f"{cure.cured} of {cure.trials}",
            f"{cure.control_visible} of {cure.control_trials}", "none" if cure.read_only else "changes the filesystem",
        )
        for result in results
        for cure in result.observation.cures
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShotRow:
    """One cell's observers that looked only once: delay in seconds as text -> `hits/looks`."""

    cell_id: str
    shots: dict[str, str]


def shot_rows(results: Iterable[CellResult]) -> tuple[ShotRow, ...]:
    """Every cell with single-shot looks."""
    return tuple(
        ShotRow(
            result.cell.id,
            {visible(delay): f"{hits}/{looks}" for delay, (hits, looks) in result.observation.single_shot.items()},
        )
        for result in results
        if result.observation.single_shot
    )


def shot_delays(rows: Iterable[ShotRow]) -> tuple[str, ...]:
    """All delays that occur, ascending."""
    return tuple(sorted({delay for row in rows for delay in row.shots}, key=_delay_order))


def _delay_order(delay: str) -> tuple[float, str]:
    try:
        return float(delay), delay
    except ValueError:
        return float("inf"), delay
