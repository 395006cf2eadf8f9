"""Histories of a bundle as the records they were made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fsconform.report.bundle_trials import trial_from
from fsconform.report.histories import FORMAT
from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.errnos import PSEUDO_NAMES, number_of
from fsconform.vocabulary.histories import INF, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Program
from fsconform.vocabulary.trials import TrialResult

_PSEUDO = {name: number for number, name in PSEUDO_NAMES.items()}
_COLUMNS = ("invoked_ns", "returned_ns", "errno", "value", "detail")
MOST_CELLS = 1 << 26
"""Numbers in all columns together."""


def check_header(header: Any) -> Mapping[str, Any]:
    """The first line of a history. Raises ValueError for another format."""
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"a history of format {FORMAT} is expected")
    return header


def trials_from(lines: Iterator[Any], cell: Cell) -> tuple[TrialResult, ...]:
    """The trials of a cell about latency. Raises ValueError, TypeError or KeyError where they are none."""
    return tuple(trial_from(line, cell) for line in lines)


def rounds_from(header: Mapping[str, Any], lines: Iterator[Any]) -> RoundHistory:
    """The rounds of a program, times ns since the first event of each round.

    Raises ValueError, TypeError, KeyError or OverflowError where header and lines do not belong together.
    """
    program = Program.from_json(header["program"])
    rounds, lanes = int(header["rounds"]), program.lanes
    if rounds < 0 or rounds * sum(len(lane.steps) for lane in lanes) * len(_COLUMNS) > MOST_CELLS:
        raise ValueError(f"{rounds} rounds are more than is read")
    columns = [np.zeros((len(_COLUMNS), rounds, len(lane.steps)), dtype=np.int64) for lane in lanes]
    seen = 0
    for event in lines:
        number, lane, step = (_index(event[key]) for key in ("round", "worker", "seq"))
        columns[lane][:, number, step] = _figures(event)
        seen += 1
    if seen != rounds * sum(len(lane.steps) for lane in lanes):
        raise ValueError(f"{seen} events do not fill {rounds} rounds")
    errors = tuple(np.array(error, dtype=np.int64) for error in header.get("errors", ()))
    _check_lengths(header, errors, rounds, len(lanes))
    return RoundHistory(
        program, tuple(LaneColumns(*lane) for lane in columns), tuple(map(int, header["error_ns"])),
        {int(lane): str(why) for lane, why in header["lost"].items()}, tuple(map(int, header.get("clocks", ()))),
        str(header.get("clock_fault", "")), errors,
    )  # fmt: skip


def _check_lengths(header: Mapping[str, Any], errors: tuple[Any, ...], rounds: int, lanes: int) -> None:
    told = (len(header["error_ns"]), len(errors) or lanes, len(header.get("clocks", ())) or lanes)
    if told != (lanes, lanes, lanes) or any(error.shape != (rounds,) for error in errors):
        raise ValueError("the clock errors are of another program")


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{str(number)[:40]!r} is no place in a program")
    return number


def _figures(event: Mapping[str, Any]) -> tuple[int, ...]:
    returned = event["returned_ns"]
    name = str(event["errno"])
    return (
        int(event["invoked_ns"]), INF if returned is None else int(returned), _errno(name), int(event["value"]),
        int(event["detail"]),
    )  # fmt: skip


def _errno(name: str) -> int:
    if name in _PSEUDO:
        return _PSEUDO[name]
    if name.startswith("errno "):
        return int(name.removeprefix("errno "))
    return number_of(name)
