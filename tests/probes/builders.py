"""Histories and trial results made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fsconform.vocabulary.histories import LaneColumns, RoundHistory
from fsconform.vocabulary.observations import Observation
from fsconform.vocabulary.programs import Program

Told = Mapping[tuple[int, int], int]
"""(lane, step) -> errno (or value); everything else is 0."""


def history(program: Program, told: Sequence[Told], values: Sequence[Told] = (), overlap: bool = True) -> RoundHistory:
    """One round per entry of `told`. Step k of every lane takes [10 k, 10 k + 8]; without overlap lanes take turns."""
    lanes = []
    for number, lane in enumerate(program.lanes):
        shape = (len(told), len(lane.steps))
        start = np.tile(np.arange(shape[1], dtype=np.int64) * 10, (shape[0], 1))
        if not overlap:
            start = start + 1_000_000 * number
        errnos, results = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for place, row in enumerate(told):
            for (at, step), number_told in row.items():
                if at == number:
                    errnos[place, step] = number_told
        for place, row in enumerate(values):
            for (at, step), value in row.items():
                if at == number:
                    results[place, step] = value
        lanes.append(LaneColumns(start, start + 8, errnos, results, np.zeros(shape, np.int64)))
    return RoundHistory(program, tuple(lanes), (0,) * len(lanes))


def steps_of(program: Program, lane: int, kind: str) -> list[int]:
    """Indexes of the steps of one kind in one lane."""
    return [k for k, step in enumerate(program.lanes[lane].steps) if step.kind == kind]


def guilty_of(seen: Observation) -> set[tuple[int, int]]:
    """(lane, step) of the events that the witness marks."""
    assert seen.witness is not None
    return {(event["worker"], event["seq"]) for event in seen.witness.events if event["guilty"]}
