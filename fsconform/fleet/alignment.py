"""All lanes of a job on one time axis: round by round, by messages and by the barriers they passed together.

Nobody leaves a barrier before everybody has come to it. So for a barrier of two lanes a and b, a came before b left,
whatever their clocks showed: one bound on how far these two are apart, and another one the other way round. Where
lanes meet in shared memory these bounds are much closer than those of messages, which travel; both must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fsconform.fleet.clocks import DRIFT_DIVISOR, Clock, Envelope, contradiction, spanned
from fsconform.vocabulary.histories import INF, UNKNOWN_ERROR, Ints, LaneColumns
from fsconform.vocabulary.programs import Program


class Aligned(NamedTuple):
    """Lanes on one axis, near ours."""

    lanes: tuple[LaneColumns, ...]
    errors: tuple[Ints, ...]
    """Half-width per lane and round, shape (R,), ns; 0 for the lanes of the first clock, whose axis it is."""
    clocks: tuple[int, ...]
    """Lane -> number of its clock."""
    fault: str = ""


def align(program: Program, lanes: Sequence[LaneColumns], clocks: Sequence[Clock]) -> Aligned:
    """Move the stamps of every lane, made with its clock, to the axis of the first lane's clock.

    Lanes of one clock are moved alike, and stay exact to one another. INF stays. Where clocks contradict one another,
    or nothing is known of them, `fault` says so and errors are `UNKNOWN_ERROR`.
    """
    numbers = {clock: number for number, clock in enumerate(dict.fromkeys(clocks))}
    axis, *others = numbers
    rounds = lanes[0].invoked.shape[0]
    errors = [np.zeros(rounds, dtype=np.int64) for _ in lanes]
    placed = axis.rows(_times(lanes, clocks, axis))
    moves = {axis: _middle(*placed)}
    faults = []
    for clock in others:
        least, most = _between(program, lanes, clocks, axis, clock, placed)
        there = _are_stamps(_times(lanes, clocks, clock)).any(axis=1)
        gap = int((least - most)[there].max(initial=0))
        fault = contradiction(f"the clocks of {axis.name} and {clock.name} are", gap)
        if (there & ((least <= -INF) | (most >= INF))).any():
            fault = f"the clock of {clock.name} is not known"
        faults += [fault] if fault else []
        moves[clock] = moves[axis] + _middle(least, most)
        error: Ints = np.where(there, UNKNOWN_ERROR if fault else (most - least) // 2 + 2, 0)
        for lane, own in enumerate(clocks):
            if own is clock:
                errors[lane] = error
    moved = tuple(_moved(columns, moves[clock]) for columns, clock in zip(lanes, clocks, strict=True))
    return Aligned(moved, tuple(errors), tuple(numbers[clock] for clock in clocks), "; ".join(faults))


def _between(
    program: Program, lanes: Sequence[LaneColumns], clocks: Sequence[Clock], axis: Clock, clock: Clock,
    placed: tuple[Ints, Ints],
) -> tuple[Ints, Ints]:  # fmt: skip
    """(least, most) per round of what to add to stamps of `clock` to have those of `axis`."""
    times = _times(lanes, clocks, clock)
    least, most = clock.rows(times)
    heard = (least > -INF) & (placed[0] > -INF)
    least, most = np.where(heard, least - placed[1], -INF), np.where(heard, most - placed[0], INF)
    at_least, at_most = _barrier_bounds(program, lanes, clocks, axis, clock)
    own_least, own_most = spanned(-at_least.bounds(times), at_most.bounds(times), _are_stamps(times))
    return np.maximum(least, own_least), np.minimum(most, own_most)


def _barrier_bounds(
    program: Program, lanes: Sequence[LaneColumns], clocks: Sequence[Clock], axis: Clock, clock: Clock
) -> tuple[Envelope, Envelope]:
    """Bounds on the same, negated least ones first, from every barrier that lanes of both clocks passed."""
    places = [[k for k, step in enumerate(lane.steps) if step.kind == "barrier"] for lane in program.lanes]
    least: list[tuple[int, int]] = []
    most: list[tuple[int, int]] = []
    for a, b in product(range(len(lanes)), repeat=2):
        if clocks[a] is not axis or clocks[b] is not clock:
            continue
        came, left = (getattr(lanes[a], name)[:, places[a]].ravel() for name in ("invoked", "returned"))
        came_there, left_there = (getattr(lanes[b], name)[:, places[b]].ravel() for name in ("invoked", "returned"))
        passed = (left < INF) & (left_there < INF)
        least += zip(left_there[passed].tolist(), (left_there - came)[passed].tolist(), strict=True)
        most += zip(came_there[passed].tolist(), (left - came_there)[passed].tolist(), strict=True)
    # Two clocks that may each drift by 500 ppm from ours may drift by twice that from one another.
    divisor = DRIFT_DIVISOR if axis.exact or clock.exact else DRIFT_DIVISOR // 2
    return Envelope(sorted(least), divisor), Envelope(sorted(most), divisor)


def _times(lanes: Sequence[LaneColumns], clocks: Sequence[Clock], clock: Clock) -> Ints:
    """All stamps of one clock, a row per round."""
    own = [columns for columns, of in zip(lanes, clocks, strict=True) if of is clock]
    return np.concatenate([stamps for columns in own for stamps in (columns.invoked, columns.returned)], axis=1)


def _are_stamps(times: Ints) -> npt.NDArray[np.bool_]:
    """Which of these times are stamps of something that happened."""
    return (times >= 0) & (times < INF)


def _middle(least: Ints, most: Ints) -> Ints:
    """The middle of intervals; 0 where there is none."""
    known = (least > -INF) & (most < INF)
    return np.where(known, least // 2 + most // 2, 0)


def _moved(columns: LaneColumns, by: Ints) -> LaneColumns:
    def move(stamps: Ints) -> Ints:
        moved: Ints = np.where(stamps >= INF, stamps, stamps + by[:, None])
        return moved

    return replace(columns, invoked=move(columns.invoked), returned=move(columns.returned))
