"""Rounds: one program, one worker per lane, R fresh directories, columns home."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fsconform.fleet.clocks import Clock
from fsconform.fleet.rooms import Room, Rooms
from fsconform.fleet.worker_handle import GRACE_S, Worker, WorkerError, WorkerLost
from fsconform.vocabulary.errnos import HUNG, LOST, NOT_RUN
from fsconform.vocabulary.histories import INF, Ints, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program

Answer = tuple[int, tuple[bytes, ...], str]
"""(rounds begun, columns, why it ended early)."""


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
    lanes = [
        _lane(len(lane.steps), answers.get(number), begun, sent_ns if number in lost else None)
        for number, lane in enumerate(program.lanes)
    ]
    errors, faults = [np.zeros(begun, dtype=np.int64) for _ in lanes], []
    for clock in dict.fromkeys(clocks):
        there = [n for n, own in enumerate(clocks) if own is clock and n in answers and not own.exact]
        if not there:
            continue
        # One shift per round and clock: lanes of one clock stay exact to one another.
        times = np.concatenate([stamps for n in there for stamps in (lanes[n].invoked, lanes[n].returned)], axis=1)
        offsets, own_errors, fault = clock.shifts(times)
        faults += [fault] if fault else []
        for n in there:
            errors[n] = own_errors
            lanes[n] = replace(
                lanes[n], invoked=_moved(lanes[n].invoked, offsets), returned=_moved(lanes[n].returned, offsets)
            )
    numbers = {clock: number for number, clock in enumerate(dict.fromkeys(clocks))}
    return RoundHistory(
        program, tuple(lanes), tuple(int(error.max(initial=0)) for error in errors), lost,
        tuple(numbers[clock] for clock in clocks), "; ".join(faults) if len(numbers) > 1 else "", tuple(errors),
    )  # fmt: skip


def _moved(stamps: Ints, offsets: Ints) -> Ints:
    """Stamps of the shape (R, S), each row moved by its offset; INF stays."""
    moved: Ints = np.where(stamps >= INF, stamps, stamps + offsets[:, None])
    return moved


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
