"""Passing on what workers tell one another where they share no memory; and, from every message, how clocks stand."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fsconform.fleet.worker.barrier import ABORT_WORD, HALT_WORD
from fsconform.fleet.worker.line import AT, CLEAR, GO_WORD, PING, PONG, SET, STAY, WHEN_WORD, WORD
from fsconform.fleet.worker_handle import Worker

FIRST_LEAD_NS, LEAST_LEAD_NS, MOST_LEAD_NS = 2_000_000, 300_000, 20_000_000
"""How far ahead a barrier is to be left: as little as lets most of the last messages come in time."""
LONGER, SHORTER = 8, 64
"""The lead grows by an eighth where a message came late, else shrinks by a 64th: one barrier in nine is left late."""
PATIENCE_NS = 60_000_000_000
"""How long a worker waits for a sign of life before it takes its controller, or the link, for gone."""
GAUGE_S = 2.0
"""How long to wait for the answers to pings."""


@dataclass(slots=True)
class _Conference:
    """The workers of one job, in the order of their lanes."""

    region: int
    workers: tuple[Worker, ...]
    arrived: dict[int, int] = field(default_factory=dict)
    """Lane -> the last barrier it has come to."""
    lead_ns: int = FIRST_LEAD_NS
    late: bool = False
    """Whether some lane heard too late when to leave the last barrier."""

    def arrive(self, lane: int, generation: int, late_ns: int) -> bool:
        """Whether this was the last lane to come."""
        self.arrived[lane] = generation
        self.late |= late_ns > 0
        if sum(g >= generation for g in self.arrived.values()) < len(self.workers):
            return False
        change = self.lead_ns // LONGER if self.late else -(self.lead_ns // SHORTER)
        self.lead_ns = min(MOST_LEAD_NS, max(LEAST_LEAD_NS, self.lead_ns + change))
        self.late = False
        return True


class Switchboard:
    """All lines of a fleet. Messages are heard on the threads that read them; every method is thread-safe."""

    def __init__(self) -> None:
        self._conferences: dict[int, _Conference] = {}
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._answers = threading.Condition()

    def connect(self, worker: Worker, line: Any, halts: int) -> None:
        """Listen to a worker's line (a channel of execnet)."""
        worker.line = line
        worker.heard_ns = time.monotonic_ns()
        line.setcallback(lambda message: self._hear(worker, message))
        with self._lock:
            self._workers.append(worker)
        _send(worker, SET, ((HALT_WORD, halts),))

    @contextmanager
    def conference(self, region: int, workers: Sequence[Worker]) -> Iterator[None]:
        """Let these workers, one per lane, meet in a region's words for the time of one job."""
        conference = _Conference(region, tuple(workers))
        for worker in conference.workers:
            _send(worker, CLEAR, region)
        with self._lock:
            self._conferences[region] = conference
        try:
            yield
        finally:
            with self._lock:
                del self._conferences[region]

    def abort(self, region: int) -> None:
        """End the waits of a job whose partner is lost; nothing to do for one that meets in the page."""
        with self._lock:
            conference = self._conferences.get(region)
        for worker in conference.workers if conference else ():
            _send(worker, SET, ((region + ABORT_WORD, 1),))

    def halt(self, halts: int) -> None:
        """Ask every job that runs now to stop soon."""
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            _send(worker, SET, ((HALT_WORD, halts),))

    def promise(self, worker: Worker) -> None:
        """Tell a worker that it will be pinged from now on, and may end itself after `PATIENCE_NS` of silence."""
        _send(worker, STAY, PATIENCE_NS)

    def ping(self, worker: Worker) -> None:
        """Ask for an answer, which tells how its clock stands; does not wait for it."""
        _send(worker, PING)

    def gauge(self, workers: Sequence[Worker], count: int = 4) -> None:
        """Compare clocks that are not ours by some pings each, one after another; waits for the answers."""
        distant = [worker for worker in dict.fromkeys(workers) if not worker.clock.exact]
        for _ in range(count if distant else 0):
            asked = {worker: worker.answers for worker in distant if not worker.lost}
            for worker in asked:
                self.ping(worker)
            if not self._await_answers(asked):
                return

    def _await_answers(self, asked: dict[Worker, int]) -> bool:
        """Whether each has answered more pings than it had, within 2 s."""
        with self._answers:
            return self._answers.wait_for(lambda: all(worker.answers > had for worker, had in asked.items()), GAUGE_S)

    @contextmanager
    def timed(self, workers: Sequence[Worker]) -> Iterator[None]:
        """Compare clocks before and after a job, and say nothing that may wait in between."""
        self.gauge(workers)
        for worker in workers:
            worker.hushed = True
        try:
            yield
        finally:
            for worker in workers:
                worker.hushed = False
            self.gauge(workers)

    def _hear(self, worker: Worker, message: tuple[Any, ...]) -> None:
        now = time.monotonic_ns()
        kind, said, sent, heard, *rest = message
        worker.heard_ns = now
        if not worker.clock.exact:
            worker.clock.came_from(said, now)
            if sent:
                worker.clock.sent_to(sent, heard)
        if kind == PONG:
            with self._answers:
                worker.answers += 1
                self._answers.notify_all()
        elif kind == AT:
            self._arrive(*rest)
        elif kind == WORD:
            self._pass_on(worker, *rest)

    def _arrive(self, region: int, lane: int, generation: int, late_ns: int) -> None:
        with self._lock:
            conference = self._conferences.get(region)
            if conference is None or not conference.arrive(lane, generation, late_ns):
                return
            when = time.monotonic_ns() + conference.lead_ns
        for worker in conference.workers:
            _send(
                worker, SET, ((region + WHEN_WORD, when - worker.clock.latest().offset), (region + GO_WORD, generation))
            )

    def _pass_on(self, worker: Worker, region: int, word: int, value: int) -> None:
        with self._lock:
            conference = self._conferences.get(region)
        for other in conference.workers if conference else ():
            if other is not worker:
                _send(other, SET, ((region + word, value),))


def _send(worker: Worker, kind: str, *what: Any) -> None:
    """Say something to a worker; one that is gone is found to be by whoever waits for it."""
    with suppress(OSError):
        worker.line.send((kind, time.monotonic_ns(), *what))
