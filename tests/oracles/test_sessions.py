"""Session guarantees and coherence against the twin: all orders of the versions, all orders of the operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, permutations

import pytest
from hypothesis import given, settings

from fsconform.oracles.operations import Op, clusters
from fsconform.oracles.sessions import coherent, session_opportunities, session_regressions
from tests.oracles import twins
from tests.oracles.histories import bulk, drawn, session_history
from tests.oracles.twins import INF, least_shift, step_register


def history(ops: Sequence[twins.Op]) -> list[Op]:
    return [Op(*op) for op in ops]


def twin_versions(ops: Sequence[twins.Op]) -> dict[int, tuple[int, int]] | None:
    """version -> (first evidence, start of its write); None with a read from the future."""
    out = {0: (-INF, -INF)} | {op.value: (op.end, op.start) for op in ops if op.kind == "write"}
    for op in ops:
        if op.kind == "read":
            if op.value not in out or op.end < out[op.value][1]:
                return None
            out[op.value] = min(out[op.value][0], op.end), out[op.value][1]
    return out


def twin_regressing(ops: Sequence[twins.Op]) -> set[int] | None:
    """Sessions for which no order of the versions, allowed by real time, is free of going back."""
    known = twin_versions(ops)
    if known is None:
        return None
    orders = [
        order
        for order in permutations(known)
        if not any(known[order[j]][0] < known[order[i]][1] for i in range(len(order)) for j in range(i + 1, len(order)))
    ]
    bad = set()
    for session in {op.session for op in ops}:
        items = [op for op in ops if op.session == session and not (op.kind == "write" and op.end >= INF)]
        early = any(a.kind == "read" and b.kind == "write" and a.value == b.value
                    for i, a in enumerate(items) for b in items[i:])  # fmt: skip
        good = any(all(order.index(a.value) <= order.index(b.value) for a, b in pairwise(items)) for order in orders)
        if early or not good:
            bad.add(session)
    return bad


def twin_coherent(ops: Sequence[twins.Op]) -> bool:
    """Some interleaving of the sessions in program order is a register's."""

    def go(rest: frozenset[int], state: int) -> bool:
        if all(ops[i].end >= INF for i in rest):
            return True
        for i in rest:
            if any(j < i and j in rest and ops[j].session == ops[i].session and ops[j].end < INF for j in rest):
                continue
            after = step_register(state, ops[i])
            if after is not None and go(rest - {i}, after):
                return True
        return False

    return go(frozenset(range(len(ops))), 0)


def check(ops: Sequence[twins.Op]) -> None:
    found = session_regressions(history(ops))
    wanted = twin_regressing(ops)
    assert {regression.op.session for regression in found} == (wanted or set()), ops
    assert coherent(history(ops)) == twin_coherent(ops), ops
    if wanted and least_shift(ops, step_register, ("read",)) == 0:  # only where program order is not in the stamps
        assert any(a.session == b.session and a.end == b.start for a, b in pairwise(ops)), ops


def test_agree_with_the_twin_on_random_histories() -> None:
    for ops in bulk(session_history):
        check(ops)


@settings(max_examples=150, deadline=None)
@given(drawn(session_history))
def test_agree_with_the_twin(ops: list[twins.Op]) -> None:
    check(ops)


def neighbours_only(ops: Sequence[Op]) -> set[int]:
    """Mutant: compares each read with the read before it only."""
    known, bad = clusters(ops), set()
    last: dict[int, int] = {}
    if known is None:
        return set()
    for op in ops:
        if op.kind == "read":
            if op.session in last and known[op.value].first < known[last[op.session]].start:
                bad.add(op.session)
            last[op.session] = op.value
    return bad


def open_writes_are_items(ops: Sequence[Op]) -> set[int]:
    """Mutant: an open write has taken effect before its session goes on."""
    closed = [op._replace(end=op.start) if op.end >= INF else op for op in ops]
    return {regression.op.session for regression in session_regressions(closed)}


def no_flip_flop(ops: Sequence[Op]) -> set[int]:
    """Mutant: only real time says that a version is older."""
    return {regression.op.session for regression in session_regressions(ops) if regression.kind != "flip-flop"}


MUTANTS = (neighbours_only, open_writes_are_items, no_flip_flop)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_twin_kills_wrong_formulations(mutant: Callable[[Sequence[Op]], set[int]]) -> None:
    differing = (
        ops for ops in bulk(session_history, 4000, seed=3) if mutant(history(ops)) != (twin_regressing(ops) or set())
    )
    assert next(differing, None) is not None


def test_coherence_needs_open_writes_that_were_read() -> None:
    lost = Op("write", 0, INF, 1, 0)
    seen = [lost, Op("read", 5, 6, 1, 1), Op("read", 7, 8, 0, 1)]
    assert not coherent(seen)
    assert coherent([lost, Op("read", 5, 6, 0, 0), Op("read", 7, 8, 1, 0)])


def test_opportunities_need_a_change_between() -> None:
    reads = [Op("read", 0, 1, 0, 1), Op("read", 10, 11, 0, 1)]
    assert session_opportunities(reads) == 0
    assert session_opportunities([Op("write", 4, 6, 1, 0), *reads]) == 1
