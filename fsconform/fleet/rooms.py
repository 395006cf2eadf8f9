"""Where the workers of one job meet: in the shared page, or through the switchboard where some share no memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fsconform.fleet.page import Page
from fsconform.fleet.switchboard import Switchboard
from fsconform.fleet.worker.barrier import Place
from fsconform.fleet.worker_handle import Worker


@dataclass(frozen=True, slots=True)
class Room:
    """One job's meeting place."""

    page: Page
    switchboard: Switchboard
    workers: tuple[Worker, ...]
    region: int
    by_line: bool

    def place(self, lane: int, patience_s: float, lanes: int | None = None) -> Place:
        """Where one worker stands. `patience_s`: deadline of its waits; `lanes`: how many take part in barriers."""
        host = self.workers[lane].host
        seat = sum(worker.host == host for worker in self.workers[:lane])
        place = self.page.place(self.region, lane, len(self.workers) if lanes is None else lanes, patience_s)
        neighbours = sum(worker.host == host for worker in self.workers)
        return place._replace(seat=seat, neighbours=neighbours, by_line=self.by_line)

    def abort(self) -> None:
        """End the waits of all: a partner is lost."""
        self.page.abort(self.region)
        self.switchboard.abort(self.region)


@dataclass(frozen=True, slots=True)
class Rooms:
    """Where rooms come from."""

    page: Page
    switchboard: Switchboard

    @contextmanager
    def open(self, workers: Sequence[Worker]) -> Iterator[Room]:
        """A room for the time of one job, in the order of its lanes."""
        by_line = not all(worker.shares_page for worker in workers)
        with self.page.region() as region:
            room = Room(self.page, self.switchboard, tuple(workers), region, by_line)
            if not by_line:
                yield room
                return
            with self.switchboard.conference(region, workers):
                yield room

    def halt(self) -> None:
        """Ask every job that runs now to stop soon."""
        self.page.halt()
        self.switchboard.halt(self.page.halts)
