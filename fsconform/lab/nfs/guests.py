"""One guest as the keeper sees it: its machine, the line to it, its clocks, and what is told where it fails."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsconform.lab.nfs import frames
from fsconform.lab.nfs.line import GuestError, Line, SilentError
from fsconform.lab.nfs.machines import Machine
from fsconform.vocabulary.errors import CannotTestError

_EXCHANGES = 9
Take = Callable[["Guest", int, int, bytes], None]


class FrozenError(CannotTestError):
    """A guest does not answer any more."""


class Guest:
    """A booted guest. `take` gets the frames of workers' streams; `lab` is how messages call the lab."""

    def __init__(self, lab: str, machine: Machine, directory: Path, take: Take) -> None:
        self._lab = lab
        self._machine = machine
        self.line = Line(machine.line, directory, machine.alive, lambda *frame: take(self, *frame))

    @property
    def name(self) -> str:
        """What it is called, and its host name."""
        return self._machine.config.name

    def call(self, name: str, **arguments: str | int) -> Any:
        """Call a function of the guest (`guest/calls.py`). Raises CannotTestError, FrozenError."""
        self.ask(name, **arguments)
        return self.answer(name)

    def ask(self, name: str, **arguments: str | int) -> None:
        """Begin a call. Raises CannotTestError."""
        try:
            self.line.ask(name, arguments)
        except GuestError as error:
            raise CannotTestError(self.blame(f"{name}: {error}")) from None

    def answer(self, what: str, deadline_s: float = 15.0) -> Any:
        """The answer to the oldest call, which is named in messages. Raises CannotTestError, FrozenError."""
        try:
            return self.line.result(deadline_s)
        except SilentError as error:
            raise FrozenError(self.blame(f"{what}: {error}")) from None
        except GuestError as error:
            raise CannotTestError(self.blame(f"{what}: {error}")) from None

    def blame(self, what: str) -> str:
        """A message about it, with the end of its console."""
        return f"{self._lab}: guest {self.name}: {what}; the last lines of its console:\n{self._machine.last_lines()}"

    def offset_ns(self) -> int:
        """Its CLOCK_MONOTONIC minus ours, by the fastest of some exchanges; it does not drift."""
        exchanges: list[tuple[int, int]] = []
        for _ in range(_EXCHANGES):
            before = time.monotonic_ns()
            clocks = self.call("clock")
            after = time.monotonic_ns()
            exchanges.append((after - before, clocks[0] - (before + after) // 2))
        return min(exchanges)[1]

    def first_tick_ns(self) -> int:
        """When its kernel's ticks began to count, as ns of our CLOCK_MONOTONIC."""
        return int(self.call("first_tick")) - self.offset_ns()

    def set_wall_clock(self) -> None:
        """Give it our CLOCK_REALTIME: it boots up to 0.2 s off."""
        offset = self.offset_ns()
        self.call("set_clock", wall_minus_monotonic_ns=time.time_ns() - time.monotonic_ns() - offset)

    def halt(self) -> None:
        """Ask it to end; `end` waits for that."""
        with contextlib.suppress(GuestError):
            self.line.send(frames.CALL, 0, b'{"call": "halt"}')

    def end(self, grace_s: float = 3.0) -> None:
        """Wait `grace_s` until it has ended, then kill it."""
        self._machine.end(grace_s)
