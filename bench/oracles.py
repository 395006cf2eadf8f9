"""Speed of the oracles on simulated histories of 64 workers: `python -m bench.oracles [EVENTS…]`.

Histories are linearizable by construction (every operation takes effect at a moment of its own), so that no oracle can
stop early. Grouping by name is included, making the history is not. Each figure is the best of three, in CPU seconds
of this process, so that a busy machine does not spoil it.
"""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fsconform.oracles.examination import examine
from fsconform.oracles.frontier import sweep
from fsconform.oracles.lifetimes import LifeKind, judge_lifetimes
from fsconform.oracles.objects import LIFE_LOOKS, life
from fsconform.oracles.once import OnceKind, judge_once
from fsconform.oracles.operations import Op
from fsconform.oracles.outcomes import Bools
from fsconform.oracles.replaceable import judge_versions
from fsconform.vocabulary.histories import Ints, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.steps import Step

WORKERS = 64
LIMITS_S = {
    ("create-once", 1_000_000): 0.5, ("replaceable", 1_000_000): 1.5,
    ("create-once", 10_000_000): 3.0, ("replaceable", 10_000_000): 20.0,
}  # fmt: skip
LIMIT_MIB = 4096
FRONTIER_EVENTS_PER_S = 100_000
EXAMINATION_LIMIT_S = 0.0015
ROUNDS = 32


@dataclass(frozen=True, slots=True)
class Calls:
    """Sequential workers: start, end and the moment of effect of every call, ns."""

    start: Ints
    end: Ints
    moment: Ints


def calls(events: int) -> Calls:
    """About `events` calls of 64 workers, 1-20 us long, 1-5 us apart."""
    source = np.random.default_rng(3)
    shape = (WORKERS, events // WORKERS)
    took = source.integers(1, 20, shape) * 1000
    end = np.cumsum(took + source.integers(1, 5, shape) * 1000, axis=1)
    moment = end - took + (took * source.random(shape)).astype(np.int64)
    return Calls((end - took).ravel(), end.ravel(), moment.ravel())


def once_history(events: int) -> tuple[Ints, Ints, Ints, Ints]:
    """One name per 100 events: looks that miss, a winner, then losers, publishes and sightings."""
    made = calls(events)
    per_worker = len(made.start) // WORKERS
    name = np.tile(np.arange(per_worker), WORKERS) * max(1, events // 100) // per_worker
    order = np.lexsort((made.moment, name))
    place = np.arange(len(order)) - _starts(name[order])
    later = np.random.default_rng(4).choice([OnceKind.LOSE, OnceKind.PUBLISH, OnceKind.PRESENT], len(order))
    kind = np.empty(len(order), np.int64)
    kind[order] = np.where(place < 5, OnceKind.ABSENT, np.where(place == 5, OnceKind.WIN, later))
    return name, kind, made.start, made.end


def version_history(events: int, names: int) -> tuple[Ints, Ints, Bools, Ints, Ints]:
    """Writes (30 %) and reads of replaceable names."""
    made, source = calls(events), np.random.default_rng(5)
    count = len(made.start)
    name = source.integers(0, names, count)
    write = source.random(count) < 0.3
    order = np.lexsort((made.moment, name))
    last = np.maximum.accumulate(np.where(write[order], np.arange(count) + 1, 0))
    version = np.empty(count, np.int64)
    version[order] = np.where(last > _starts(name[order]), last, 0)
    return name, version, write, made.start, made.end


def _starts(name: Ints) -> Ints:
    """Where the run of equal names begins that each place belongs to."""
    first = np.append(True, name[1:] != name[:-1])
    return np.maximum.accumulate(np.where(first, np.arange(len(name)), 0))


def life_history(events: int, workers: int) -> list[Op]:
    """One hot name that is created, removed and looked at, by few workers."""
    source, free = random.Random(2), [0] * workers
    moments: list[tuple[int, int, int]] = []
    while len(moments) < events:
        worker = min(range(workers), key=free.__getitem__)
        start, took = free[worker], source.randint(1, 20)
        moments.append((start + source.randint(0, took), start, start + took))
        free[worker] += took + source.randint(1, 5)
    state, ops = 0, []
    for number, (_, start, end) in enumerate(sorted(moments)):
        chance = source.random()
        if chance < 0.5:
            creating = chance < 0.3
            fits = creating != bool(state)
            kind = ("create" if creating else "unlink") if fits else ("present" if creating else "absent")
            if fits:
                state = number + 1 if creating else 0
        else:
            kind = "read" if state else "absent"
        ops.append(Op(kind, start, end, state if kind in ("create", "read") else 0))
    return ops


def cpu_seconds(call: Callable[[], object], repeat: int = 3) -> float:
    """Best CPU time of a call."""
    best = float("inf")
    for _ in range(repeat):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return best


class Bench:
    """Prints rows and remembers limits that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def row(self, what: str, events: int, seconds: float, limit: float | None) -> None:
        rate = events / seconds
        verdict = "" if limit is None else f"limit {limit:g} s" + ("" if seconds <= limit else ": MISSED")
        if limit is not None and seconds > limit:
            self.missed.append(f"{what}, {events:,} events")
        print(f"{what:<42}{events:>12,} {seconds * 1e3:10.2f} ms {rate / 1e6:7.2f} M/s   {verdict}", flush=True)


def bench_columns(bench: Bench, events: int) -> None:
    """Create-once, replaceable and names that die, on many names and on a single one."""
    once = once_history(events)
    seconds = cpu_seconds(lambda: judge_once(*once))
    assert not judge_once(*once).refuted.any()
    bench.row("create-once", len(once[0]), seconds, LIMITS_S.get(("create-once", events)))
    for label, names in (("replaceable", max(1, events // 500)), ("replaceable, one hot name", 1)):
        history = version_history(events, names)
        report = judge_versions(*history)
        assert report.delta.max() == 0 and report.staleness.max() == 0
        seconds = cpu_seconds(lambda h=history: judge_versions(*h), 1 if events > 1_000_000 else 3)  # type: ignore[misc]
        bench.row(label, events, seconds, LIMITS_S.get((label, events)))


def bench_frontier(bench: Bench) -> None:
    """The exact search, and the near-linear staleness beside it."""
    for workers, events in ((2, 100_000), (4, 100_000), (8, 40_000), (12, 10_000)):
        ops = life_history(events, workers)
        assert sweep(ops, life, 0, LIFE_LOOKS).violation is None
        seconds = cpu_seconds(lambda o=ops: sweep(o, life, 0, LIFE_LOOKS), 2)  # type: ignore[misc]
        limit = events / FRONTIER_EVENTS_PER_S if workers <= 8 else None
        bench.row(f"frontier, one hot name, {workers} workers", events, seconds, limit)
    ops = life_history(200_000, 8)
    rows = [(0, int(LifeKind[op.kind.upper()]), op.value, op.start, op.end) for op in ops]
    columns = np.array(rows, np.int64).T
    assert judge_lifetimes(*columns).staleness.max() == 0
    bench.row("lifetimes (staleness only)", len(ops), cpu_seconds(lambda: judge_lifetimes(*columns)), None)


def examined_program(dying: bool) -> Program:
    """4 workers, 6 steps each, on 2 names at 2 sites."""
    key, names = "ab" * 32, ("d/n", "d/m")

    def publish(lane: int, name: str) -> tuple[Step, ...]:
        return (Step("excl_create", f"d/t{lane}"), Step("write", key=key, size=4096), Step("close"),
                Step("rename", f"d/t{lane}", name))  # fmt: skip

    def looks(lane: int, first: str, second: str) -> tuple[Step, ...]:
        last = Step("unlink", first) if dying and lane == 3 else Step("stat", first)
        read = Step("open_read", first, key=key, size=4096)
        listing = Step("scandir", "d", names=("n", "m"))
        return (Step("stat", first), read, listing, Step("stat", second), Step("access", second), last)

    lanes = [
        (*publish(lane, names[lane]), Step("stat", names[0]), Step("access", names[lane])) if lane < 2 else
        looks(lane, names[lane % 2], names[1 - lane % 2]) for lane in range(4)
    ]  # fmt: skip
    return Program(tuple(Lane("ab"[lane % 2], steps) for lane, steps in enumerate(lanes)), ("d",), names)


def innocent_history(program: Program, rounds: int) -> RoundHistory:
    """The workers one after the other, everything there once it was made."""
    lanes = []
    for number, lane in enumerate(program.lanes):
        shape = (rounds, len(lane.steps))
        start = np.broadcast_to((number * 100 + np.arange(len(lane.steps))) * 1000, shape).copy()
        value = [4096 if step.kind == "write" else 3 if step.kind == "scandir" else 0 for step in lane.steps]
        none = np.zeros(shape, np.int64)
        lanes.append(LaneColumns(start, start + 900, none, np.broadcast_to(np.array(value), shape).copy(), none))
    return RoundHistory(program, tuple(lanes), (0,) * len(lanes))


def bench_examination(bench: Bench) -> None:
    """A whole program of the search: 32 rounds per message."""
    for dying in (False, True):
        history = innocent_history(examined_program(dying), ROUNDS)
        assert examine(history).anomalies == ()
        seconds = cpu_seconds(lambda h=history: [examine(h) for _ in range(100)]) / 100  # type: ignore[misc]
        events = ROUNDS * sum(len(lane.steps) for lane in history.program.lanes)
        limit = None if dying else EXAMINATION_LIMIT_S
        bench.row(f"examination of 32 rounds{', a name removed' if dying else ''}", events, seconds, limit)


def main(sizes: list[int]) -> int:
    """Runs all benches; 1 where a limit was missed."""
    bench = Bench()
    for events in sizes:
        bench_columns(bench, events)
    bench_frontier(bench)
    bench_examination(bench)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"memory at most {memory:,} MiB (limit {LIMIT_MIB:,})")
    if memory > LIMIT_MIB:
        bench.missed.append("memory")
    print(f"missed: {'; '.join(bench.missed)}" if bench.missed else "every limit kept")
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main([int(float(word)) for word in sys.argv[1:]] or [100_000, 1_000_000, 10_000_000]))
