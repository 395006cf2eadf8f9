"""Instances as the controller sees them: what each is told, what it reports, on one time axis."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fsconform.fleet.clocks import Shift
from fsconform.fleet.fleet import Fleet, Worker, WorkerError, WorkerLost
from fsconform.vocabulary.workloads import BlockOutcome, BlockRead, Event, InstanceReport, JobRecord

FILL_S = 300.0
"""How long making contents and checking them may take."""


class SceneRefused(Exception):  # noqa: N818 - an answer
    """A call outside all jobs was refused, so that the instance could not go on. `errno` is a number."""

    def __init__(self, letter: str, scene: str, errno: int) -> None:
        super().__init__(f"{letter} {scene}")
        self.errno = errno


class PartyLost(Exception):  # noqa: N818 - the state of an instance
    """The worker of an instance is gone; what it recorded is in its report."""


@dataclass(slots=True)
class Party:
    """One instance at one site. `phase_s`: how long one scene may take in all."""

    fleet: Fleet
    worker: Worker
    letter: str
    phase_s: float
    error_ns: int = 0
    """Half-width of the error of its clock over the events of its last report."""
    reads: dict[int, BlockRead] = field(default_factory=dict)
    request: dict[str, int] = field(default_factory=dict)
    lost: str = ""
    _last: Mapping[str, Any] | None = None
    """The report that it gave as it was lost."""
    _scene: str = "open"
    """What it was told last."""

    def open(self, settings: Mapping[str, Any], filled: bool) -> None:
        """Make the instance."""
        self.reads, self.request, self.lost, self._last = {}, {}, "", None
        self._call("replay open", dict(settings), filled, deadline_s=FILL_S)

    def fill(self, filled: bool = True) -> None:
        """Its buffers with the blocks they are for, or cleared."""
        self._call("replay fill", filled, deadline_s=FILL_S)

    def perform(self, phase: int, scene: str, *arguments: Any) -> Any:
        """A scene from beginning to end. Raises PartyLost where a call hangs beyond its deadline."""
        self._scene = scene
        return self._call("replay perform", int(phase), scene, *arguments, deadline_s=self.phase_s)

    def begin(self, phase: int, scene: str, *arguments: Any) -> None:
        """Start a scene; `finish` waits for it."""
        self._scene = scene
        self._call("replay begin", int(phase), scene, *arguments)

    def finish(self) -> Any:
        """Wait for the scene that was begun."""
        return self._call("replay finish", deadline_s=self.phase_s)

    def contest(self, phase: int, place: tuple[Any, ...], side: int) -> None:
        """Store in step with another instance."""
        self._scene = "store"
        self._call("replay contest", int(phase), tuple(place), side, deadline_s=self.phase_s)

    def hold(self, step: str, block: int) -> None:
        """Hold the thread that comes to this call on this block."""
        self._call("replay hold", step, block)

    def await_hold(self, step: str, block: int, seconds: float = 30.0) -> bool:
        """Wait until a thread is held there."""
        return bool(self._call("replay await hold", step, block, seconds, deadline_s=seconds + 10.0))

    def release(self) -> None:
        """Let held threads go on."""
        self._call("replay release")

    def stop(self) -> None:
        """Have a scene that goes on by itself end soon."""
        self._call("replay stop")

    def verify(self) -> None:
        """Check what was loaded last; results are kept by block."""
        for block, content, whose, length in self._call("replay verify", deadline_s=FILL_S):
            self.reads[block] = BlockRead(block, content, whose, length)

    def note_request(self) -> None:
        """Keep the counters as they are after the first request."""
        self.request = dict(self._call("replay numbers"))

    def close(self) -> None:
        """End the instance and give its memory back."""
        if not self.lost:
            self._call("replay close")

    def kill(self) -> None:
        """SIGKILL, as when a machine dies; what was recorded until now is kept."""
        self._last = self._call("replay report", False)
        self.worker.kill()
        self.worker.lost = self.lost = "killed on purpose"

    def revive(self) -> None:
        """A new worker where it was killed or lost."""
        self.worker = self.fleet.replace(self.worker)

    def report(self) -> InstanceReport:
        """Everything it recorded."""
        told = self._last if self._last is not None else self._call("replay report", deadline_s=60.0)
        return self._report(told)

    def _call(self, name: str, *arguments: Any, deadline_s: float = 30.0) -> Any:
        try:
            return self.fleet.call(self.worker, name, *arguments, deadline_s=deadline_s)
        except WorkerLost as loss:
            self.lost = loss.reason
            self._last = loss.report if isinstance(loss.report, Mapping) else self._last
            raise PartyLost(loss.reason) from loss
        except WorkerError as error:
            if not error.errno:
                raise
            raise SceneRefused(self.letter, self._scene, error.errno) from error

    @property
    def offset_ns(self) -> int:
        """What to add to its stamps now, ns."""
        return self.worker.clock.latest().offset

    def _report(self, told: Mapping[str, Any]) -> InstanceReport:
        counters = told["counters"]
        raw = tuple(self._events(told["tapes"]))
        shift = self.worker.clock.shift(np.array([stamp for e in raw for stamp in (e.invoked, e.returned)], np.int64))
        self.error_ns = shift.error
        events = tuple(replace(e, invoked=shift.of(e.invoked), returned=shift.of(e.returned)) for e in raw)
        return InstanceReport(
            letter=self.letter, site=self.worker.letter, names=tuple(told["names"]), numbers=dict(counters["numbers"]),
            times={name: tuple(values) for name, values in counters["times"].items()}, log=tuple(counters["log"]),
            samples=_rows(told["samples"], shift), changes=_rows(told["changes"], shift),
            suffixes=dict(told["suffixes"]), jobs=tuple(_job(job) for job in told["jobs"]), events=events,
            reads=tuple(self.reads.values()), request=dict(self.request), direct=bool(told["direct"]), lost=self.lost,
            peak_bytes=int(told["peak_bytes"]),
        )  # fmt: skip

    def _events(self, tapes: Iterable[Any]) -> Iterable[Event]:
        """As its own clock stamped them."""
        for thread, steps, paths, columns in tapes:
            for phase, block, step, path, *rest in zip(*map(_numbers, columns), strict=True):
                yield Event(self.letter, thread, phase, block, steps[step], paths[path], *rest)


def _rows(data: bytes, shift: Shift) -> tuple[tuple[int, int, int], ...]:
    numbers = _numbers(data)
    return tuple((shift.of(numbers[k]), numbers[k + 1], numbers[k + 2]) for k in range(0, len(numbers), 3))


def without_report(party: Party) -> InstanceReport:
    """An instance that was lost without a word."""
    return InstanceReport(party.letter, party.worker.letter, (), {}, {}, (), (), (), {}, (), (), (), {}, False,
                          party.lost or "lost")  # fmt: skip


def _numbers(data: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(data)
    return numbers


def _job(told: Any) -> JobRecord:
    phase, kind, number, blocks, failure, outcomes = told
    return JobRecord(phase, kind, number, tuple(blocks), tuple(failure) if failure else None,
                     tuple(BlockOutcome(*outcome) for outcome in outcomes))  # fmt: skip


def together(*actions: Callable[[], Any]) -> list[Any]:
    """Call all at the same time; their results. Raises what the first of them raised, once all have ended.

    Ctrl-C is not held up by them: their threads end with the workers that they talk to.
    """
    results: list[Any] = [None] * len(actions)
    errors: list[BaseException] = []

    def perform(place: int, action: Callable[[], Any]) -> None:
        try:
            results[place] = action()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=perform, args=pair, daemon=True) for pair in enumerate(actions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
