"""Two names: correct stores are never accused, reordering ones are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings

from fsconform.oracles.causal import causal_regressions
from fsconform.oracles.operations import Op
from tests.oracles import twins
from tests.oracles.histories import BULK, drawn, session_history
from tests.oracles.twins import INF, least_shift, step_register


def manifest_store(source: random.Random, late: int) -> list[Op]:
    """Writer: data k, then manifest k. Two readers look at either; one of them sees data `late` ticks later."""
    ops, now = [], 0
    effects: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for version in range(1, 4):
        for name in (0, 1):
            took = source.randint(1, 4)
            ops.append(Op("write", now, now + took, version, 0, name))
            effects[name].append((now + source.randint(0, took), version))
            now += took + source.randint(1, 2)
    for session in (1, 2):
        start = source.randint(0, 3)
        while start < now:
            took, name = source.randint(0, 3), source.randint(0, 1)
            moment = start + source.randint(0, took) - (late if session == 2 and name == 0 else 0)
            seen = max([version for at, version in effects[name] if at <= moment], default=0)
            ops.append(Op("read", start, start + took, seen, session, name))
            start += took + source.randint(1, 3)
    return ops


def test_a_correct_store_is_never_accused_and_a_reordering_one_is() -> None:
    source = random.Random(1)
    rounds = BULK // 2
    assert not any(causal_regressions(manifest_store(source, 0)) for _ in range(rounds))
    assert sum(bool(causal_regressions(manifest_store(source, 8))) for _ in range(rounds)) > rounds / 20


def writer_past_forgotten(ops: Sequence[Op]) -> bool:
    """Mutant: only what a session itself wrote and read counts."""
    return any(causal_regressions([op for op in ops if op.name == name]) for name in (0, 1))


def test_looking_at_each_name_alone_misses_what_two_names_show() -> None:
    source = random.Random(2)
    histories = [manifest_store(source, 8) for _ in range(300)]
    assert any(causal_regressions(ops) and not writer_past_forgotten(ops) for ops in histories)


@settings(max_examples=150, deadline=None)
@given(drawn(session_history))
def test_a_linearizable_history_is_never_accused(ops: list[twins.Op]) -> None:
    touching = any(a.session == b.session and a.end == b.start for a, b in pairwise(ops))
    if not touching and least_shift(ops, step_register, ("read",)) == 0:
        assert not causal_regressions([Op(*op) for op in ops])


def test_a_cycle_of_reads_is_found() -> None:
    ops = [
        Op("read", 0, 50, 1, 0, 0), Op("write", 1, 51, 1, 0, 1),
        Op("read", 0, 50, 1, 1, 1), Op("write", 1, 51, 1, 1, 0),
    ]  # fmt: skip
    assert {found.kind for found in causal_regressions(ops)} == {"causal-cycle"}


def test_an_open_write_binds_only_its_readers() -> None:
    lost = Op("write", 0, INF, 1, 0, 0)
    assert not causal_regressions([lost, Op("read", 5, 6, 0, 0, 0), Op("read", 7, 8, 1, 1, 0)])
    assert causal_regressions([lost, Op("read", 5, 6, 1, 1, 0), Op("read", 7, 8, 0, 1, 0)])
