"""Rounds: one program, one worker per lane, R fresh directories, columns home."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsconform.fleet.alignment import align
from fsconform.fleet.clocks import Clock
from fsconform.fleet.rooms import Room, Rooms
from fsconform.fleet.worker_handle import GRACE_S, Worker, WorkerError, WorkerLost
from fsconform.vocabulary.errnos import HUNG, LOST, NOT_RUN
from fsconform.vocabulary.histories import INF, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program

Answer = tuple[int, tuple[bytes, ...], str]
"""(rounds begun, columns, why it ended early)."""

_NEAR_NS = 1_000_000_000
"""Farther than the axis of a job, which is that of its first lane, is from our clock."""
_SLICE_S = 0.05
"""How long to wait for one lane before looking at the others: any of them may be the one that is lost."""


@dataclass(slots=True)
class RoundsJob:
    """One program to be performed `rounds` times; see `Fleet.run_rounds`."""

    rooms: Rooms
    program: Program
    workers: Sequence[Worker]
    base: str
    rounds: int
    deadline_s: float
    step_deadline_s: float
    incident: Callable[[str], None]
    answers: dict[int, Answer] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)

    def run(self) -> RoundHistory:
        """Send all lanes their parts and wait for what they have to tell."""
        sent_ns = time.monotonic_ns()
        with self.rooms.open(self.workers) as room, self.rooms.switchboard.timed(self.workers):
            pending: dict[int, int] = {}
            try:
                for number in range(len(self.workers)):
                    if serial := self._send(room, number):
                        pending[number] = serial
                self._collect(room, pending)
            finally:
                for number in pending:
                    self.workers[number].drop()
        clocks = [worker.clock for worker in self.workers]
        return _history(self.program, self.answers, self.lost, self.rounds, sent_ns, clocks)

    def _send(self, room: Room, number: int) -> int:
        """Send one lane's part; 0 where its worker is gone. A wait may take as long as a partner may hang."""
        lane, worker = self.program.lanes[number], self.workers[number]
        place = room.place(number, self.step_deadline_s + 10.0)
        wires = tuple(step.to_wire() for step in lane.steps)
        arguments = (tuple(place), f"{worker.root}/{self.base}", self.program.directories, self.rounds, wires)
        try:
            return worker.begin("rounds", arguments, self.step_deadline_s)
        except WorkerLost as loss:
            self._lose(room, number, loss.reason)
            return 0

    def _collect(self, room: Room, pending: dict[int, int]) -> None:
        """Take the answers as they come; end the waits of the others when a lane is lost or time is up."""
        end, late = time.monotonic() + self.deadline_s, False
        while pending:
            for number in tuple(pending):
                if self._take(room, number, pending[number]):
                    del pending[number]
            if pending and not late and time.monotonic() > end:
                late = True
                room.abort()
                self.incident("rounds were ended early: their deadline passed")
            if time.monotonic() > end + GRACE_S + self.step_deadline_s:
                for number in tuple(pending):
                    self._lose(room, number, self.workers[number].give_up(self.deadline_s).reason)
                    del pending[number]

    def _take(self, room: Room, number: int, serial: int) -> bool:
        """Whether a lane has answered or is lost."""
        try:
            self.answers[number] = self.workers[number].poll(serial, _SLICE_S)
        except TimeoutError:
            return False
        except WorkerLost as loss:
            if loss.report is not None:
                self.answers[number] = loss.report
            self._lose(room, number, loss.reason + _hung_step(self.program.lanes[number], loss.report))
        except WorkerError as error:
            self._lose(room, number, f"{self.workers[number]} could not run its rounds: {error}")
        return True

    def _lose(self, room: Room, number: int, reason: str) -> None:
        self.lost[number] = reason
        room.abort()
        self.incident(reason)


def _hung_step(lane: Lane, report: Answer | None) -> str:
    """In which step and round a lane hung, as the end of a sentence."""
    if report is None:
        return ""
    places = np.flatnonzero(np.frombuffer(report[1][2], dtype=np.int64) == HUNG)
    if len(places) == 0:
        return ""
    number, step = divmod(int(places[0]), len(lane.steps))
    return f", at {lane.steps[step]} of round {number}"


def _history(
    program: Program, answers: dict[int, Answer], lost: dict[int, str], rounds: int, sent_ns: int,
    clocks: Sequence[Clock],
) -> RoundHistory:  # fmt: skip
    """All lanes with the same number of rounds: as many as any lane is known to have begun; stamps on our clock."""
    begun = max((answer[0] for answer in answers.values()), default=rounds)
    silent = [number for number in lost if number not in answers]
    told = [
        _lane(len(lane.steps), answers.get(number), begun, INF, NOT_RUN) for number, lane in enumerate(program.lanes)
    ]
    aligned = align(program, told, clocks)
    lanes = list(aligned.lanes)
    for number in silent:
        # It may have performed anything since it was sent.
        since = sent_ns if clocks[0].exact else sent_ns - _NEAR_NS
        lanes[number] = _lane(len(program.lanes[number].steps), None, begun, since, LOST)
    return RoundHistory(
        program, tuple(lanes), tuple(int(error.max(initial=0)) for error in aligned.errors), lost, aligned.clocks,
        aligned.fault, aligned.errors,
    )  # fmt: skip


def _lane(steps: int, answer: Answer | None, begun: int, since: int, errno: int) -> LaneColumns:
    """One lane's columns, filled up to `begun` rounds with steps that were invoked at `since` and never returned."""
    arrays: list[Any] = []
    for place, filler in enumerate((since, INF, errno, 0, 0)):
        told = np.frombuffer(answer[1][place], dtype=np.int64) if answer else np.empty(0, dtype=np.int64)
        told = told[: begun * steps]
        column = np.full(begun * steps, filler, dtype=np.int64)
        column[: len(told)] = told
        arrays.append(column.reshape(begun, steps))
    return LaneColumns(*arrays)
