"""Episodes made by hand, for the decision tables of attribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fsconform.vocabulary.cells import Cell
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength
from fsconform.vocabulary.workloads import BlockOutcome, Episode, Event, InstanceReport, JobRecord, Phase, Setup

MS = 1_000_000
NAME, OTHER_NAME = "a" * 64, "b" * 64
LEAF = "base_r0/aaa/aa_g0"
PATH = f"{LEAF}/{NAME}.bin"
TEMP = f"{PATH}_7.tmp"
SIZE = 4096
PromiseOf = Callable[[Cell], Promise]

SETUP = Setup(
    personality="vllm-c", variant="base", reader="clean", blocks=1, size=SIZE, tokens=64, suffixes="unique",
    tasks="job", publish="rename", observer="access", gauge_s=0.02,
)  # fmt: skip
GUARANTEED = Promise(Strength.GUARANTEED, Evidence.SOURCE, "a source")
UNPROMISED = Promise(Strength.NOT_PROMISED, Evidence.SOURCE, "a source")


def within(seconds: float) -> Promise:
    """A promise with a bound."""
    return Promise(Strength.WITHIN, Evidence.SOURCE, "a source", Bound("negative", seconds, BoundOrigin.READ))


def promising(promise: Promise) -> PromiseOf:
    """The same promise for every cell."""
    return lambda _cell: promise


def event(instance: str, step: str, path: str, at_ms: float, errno: int = 0, **more: Any) -> Event:
    """One call that took 1 ms."""
    fields: dict[str, Any] = {"thread": "read-0", "phase": int(Phase.STORE), "block": 0, "value": 0, **more}
    return Event(instance=instance, step=step, path=path, invoked=int(at_ms * MS), returned=int((at_ms + 1) * MS),
                 errno=errno, **fields)  # fmt: skip


def stored(instance: str = "A", at_ms: float = 10.0, temp: str = TEMP) -> list[Event]:
    """A block written, closed and published."""
    return [event(instance, "open-temp", temp, at_ms), event(instance, "write", temp, at_ms + 2, value=SIZE),
            event(instance, "close", temp, at_ms + 4), event(instance, "rename", PATH, at_ms + 6)]  # fmt: skip


def report(letter: str, *events: Event, jobs: tuple[JobRecord, ...] = (), **more: Any) -> InstanceReport:
    """What one instance recorded."""
    blank = InstanceReport(letter, letter.lower(), (NAME,), {}, {}, (), (), (), {}, jobs, events)
    return replace(blank, **more)


def failed_job(kind: str, errno: int, step: str, phase: Phase, length: int = 0) -> JobRecord:
    """A job of one block that failed."""
    return JobRecord(int(phase), kind, 0, (0,), (errno, step, 0), (BlockOutcome(0, errno, step, length),))


def episode(*reports: InstanceReport, setup: Setup = SETUP, facts: Mapping[str, Any] | None = None,
            files: tuple[tuple[str, int], ...] = ()) -> Episode:  # fmt: skip
    """One replay."""
    return Episode(setup, reports, files, dict(facts or {}))
