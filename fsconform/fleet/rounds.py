"""Rounds: one program, one worker per lane, R fresh directories, columns home."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fsconform.fleet.page import Page
from fsconform.fleet.worker_handle import Worker, WorkerError, WorkerLost
from fsconform.vocabulary.errnos import HUNG, LOST, NOT_RUN
from fsconform.vocabulary.histories import INF, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program

Answer = tuple[int, tuple[bytes, ...], str]
"""(rounds begun, columns, why it ended early)."""


def run_rounds(
    page: Page,
    program: Program,
    workers: Sequence[Worker],
    base: str,
    rounds: int,
    deadline_s: float,
    step_deadline_s: float,
    incident: Callable[[str], None],
) -> RoundHistory:
    """See `Fleet.run_rounds`."""
    lanes = len(workers)
    lost: dict[int, str] = {}
    answers: list[Answer | None] = [None] * lanes
    sent_ns = time.monotonic_ns()
    end = time.monotonic() + deadline_s
    with page.region() as region:
        serials = {
            number: serial
            for number, (lane, worker) in enumerate(zip(program.lanes, workers, strict=True))
            if (serial := _send(page, region, program, lane, number, worker, base, rounds, step_deadline_s, lost))
        }
        if lost:
            page.abort(region)
        for number, serial in serials.items():
            try:
                late = partial(_late, page, region, incident)
                answers[number] = workers[number].finish(serial, max(0.0, end - time.monotonic()), late)
            except WorkerLost as loss:
                answers[number] = loss.report
                lost[number] = loss.reason + _hung_step(program.lanes[number], loss.report)
            except WorkerError as error:
                lost[number] = f"{workers[number]} could not run its rounds: {error}"
            if number in lost:
                page.abort(region)
                incident(lost[number])
    return _history(program, answers, lost, rounds, sent_ns)


def _late(page: Page, region: int, incident: Callable[[str], None]) -> None:
    """The whole job takes too long: what it has by now comes home."""
    page.abort(region)
    incident("rounds were ended early: their deadline passed")


def _hung_step(lane: Lane, report: Answer | None) -> str:
    """In which step and round a lane hung, as the end of a sentence."""
    if report is None:
        return ""
    places = np.flatnonzero(np.frombuffer(report[1][2], dtype=np.int64) == HUNG)
    if len(places) == 0:
        return ""
    number, step = divmod(int(places[0]), len(lane.steps))
    return f", at {lane.steps[step]} of round {number}"


def _send(
    page: Page,
    region: int,
    program: Program,
    lane: Lane,
    number: int,
    worker: Worker,
    base: str,
    rounds: int,
    step_deadline_s: float,
    lost: dict[int, str],
) -> int:
    """Send one lane's part; 0 where its worker is gone already. A wait may take as long as a partner may hang."""
    place = page.place(region, number, len(program.lanes), step_deadline_s + 10.0)
    wires = tuple(step.to_wire() for step in lane.steps)
    arguments = (tuple(place), f"{worker.root}/{base}", program.directories, rounds, wires)
    try:
        return worker.begin("rounds", arguments, step_deadline_s)
    except WorkerLost as loss:
        lost[number] = loss.reason
        return 0


def _history(
    program: Program, answers: Sequence[Answer | None], lost: dict[int, str], rounds: int, sent_ns: int
) -> RoundHistory:
    """All lanes with the same number of rounds: as many as any lane is known to have begun."""
    known = [answer[0] for answer in answers if answer]
    begun = max(known, default=0) if known else rounds
    lanes = tuple(
        _lane(len(lane.steps), answer, begun, sent_ns if number in lost else None)
        for number, (lane, answer) in enumerate(zip(program.lanes, answers, strict=True))
    )
    return RoundHistory(program, lanes, tuple(0 for _ in lanes), lost)


def _lane(steps: int, answer: Answer | None, begun: int, lost_since: int | None) -> LaneColumns:
    """One lane's columns, filled up to `begun` rounds.

    A lane that told nothing before it was lost may have performed anything since it was sent: LOST, never returned.
    """
    silent = answer is None and lost_since is not None
    arrays: list[Any] = []
    fillers = (lost_since if silent else INF, INF, LOST if silent else NOT_RUN, 0, 0)
    for place, filler in enumerate(fillers):
        told = np.frombuffer(answer[1][place], dtype=np.int64) if answer else np.empty(0, dtype=np.int64)
        told = told[: begun * steps]
        column = np.full(begun * steps, filler, dtype=np.int64)
        column[: len(told)] = told
        arrays.append(column.reshape(begun, steps))
    return LaneColumns(*arrays)
