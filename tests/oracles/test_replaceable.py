"""Replaceable names against the twin: all orders, and Delta by its definition."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from fsconform.oracles.replaceable import delta_bounds, judge_versions
from tests.oracles.columns import register_columns
from tests.oracles.histories import bulk, drawn, register_history
from tests.oracles.twins import INF, Op, least_shift, linearizable, step_register


def twin_delta(ops: Sequence[Op]) -> int:
    return least_shift(ops, step_register, ("read",))


def first_seen(ops: Sequence[Op], version: int) -> int:
    return min(op.end for op in ops if op.value == version)


def twin_staleness(ops: Sequence[Op], read: Op) -> int:
    """One read against all writes alone, its own write closed at the first evidence of it."""
    writes = [op for op in ops if op.kind == "write"]
    own = [write for write in writes if write.value == read.value]
    if read.value and (not own or first_seen(ops, read.value) < own[0].start):
        return INF
    closed = [write._replace(end=first_seen(ops, write.value)) if write in own else write for write in writes]
    return least_shift([*closed, read], step_register, ("read",))


def check(histories: Sequence[Sequence[Op]]) -> None:
    columns = register_columns(histories)
    report = judge_versions(*columns)
    staleness = iter(report.staleness.tolist())
    for number, ops in enumerate(histories):
        delta = int(report.delta[number])
        assert delta == twin_delta(ops), ops
        for op in ops:
            late = next(staleness)
            assert late == (twin_staleness(ops, op) if op.kind == "read" else 0), (ops, op)
            assert late <= delta
        check_witness(ops, delta, int(report.older[number]), int(report.newer[number]))


def check_witness(ops: Sequence[Op], delta: int, older: int, newer: int) -> None:
    """The operations of the witness pair alone have the same Delta."""
    assert (older >= 0) == (delta > 0)
    if 0 < delta < INF:
        pair = [op for op in ops if op.value in (older, newer)]
        assert newer >= 0 and twin_delta(pair) == delta, (ops, older, newer)


def test_agrees_with_the_twin_on_random_histories() -> None:
    check(list(bulk(register_history)))


@settings(max_examples=150, deadline=None)
@given(drawn(register_history))
def test_agrees_with_the_twin(ops: list[Op]) -> None:
    check([ops])


def test_bounds_enclose_the_true_delta() -> None:
    source = random.Random(9)
    histories = list(bulk(register_history, seed=9))
    errors, skewed = [], []
    for ops in histories:
        error = source.randint(0, 3)
        off = [source.randint(-error, error) for _ in range(3)]  # per session, as if each were a host
        errors += [error] * len(ops)
        skewed.append(
            [op._replace(start=op.start + off[op.session], end=min(INF, op.end + off[op.session] * (op.end < INF)))
             for op in ops]
        )  # fmt: skip
    lower, upper = delta_bounds(*register_columns(skewed), np.array(errors, np.int64))
    for ops, low, high in zip(histories, lower.tolist(), upper.tolist(), strict=True):
        delta = twin_delta(ops)
        assert low <= delta, ops
        assert delta <= high or delta >= INF, ops


def _clusters(ops: Sequence[Op]) -> dict[int, tuple[int, int, int]] | None:
    """version -> (f, W, s), for the wrong formulations below."""
    out = {0: (-INF, -INF, -INF)} | {op.value: (op.end, op.start, -INF) for op in ops if op.kind == "write"}
    for op in ops:
        if op.kind == "read":
            if op.value not in out or op.end < out[op.value][1]:
                return None
            first, start, last = out[op.value]
            out[op.value] = min(first, op.end), start, max(last, op.start)
    return out


def forward_zones_only(ops: Sequence[Op]) -> int:
    clusters = _clusters(ops)
    if clusters is None:
        return INF
    zones = [(f, max(w, s)) for f, w, s in clusters.values() if f < max(w, s)]
    return max([0, *(min(a[1], b[1]) - max(a[0], b[0]) for a in zones for b in zones if a is not b)])


def without_the_floor(ops: Sequence[Op]) -> int:
    clusters = _clusters(ops)
    if clusters is None:
        return INF
    zones = [(f, max(w, s)) for f, w, s in clusters.values()]
    return max([0, *(min(b[1] - a[0], a[1] - b[0]) for a in zones for b in zones if a is not b)])


def moving_both_ends(ops: Sequence[Op]) -> int:
    for shift in range(40):
        moved = [op._replace(start=op.start - shift, end=op.end - shift) if op.kind == "read" else op for op in ops]
        if linearizable(moved, step_register):
            return shift
    return INF


Histories = Sequence[Sequence[Op]]


def _judged(histories: Histories) -> list[int]:
    """Delta of each history, all judged at once."""
    report = judge_versions(*register_columns([ops or [Op("write", 0, 0, 1)] for ops in histories]))
    return [int(delta) for delta in report.delta]


def greatest_staleness(histories: Histories) -> list[int]:
    columns = register_columns(histories)
    cut = np.flatnonzero(np.append(True, columns[0][1:] != columns[0][:-1]))
    return [int(stale) for stale in np.maximum.reduceat(judge_versions(*columns).staleness, cut)]


def open_write_dropped(histories: Histories) -> list[int]:
    return _judged([[op for op in ops if op.end < INF] for ops in histories])


def open_write_closed_at_its_return(histories: Histories) -> list[int]:
    return _judged([[op._replace(end=op.start + 1) if op.end >= INF else op for op in ops] for ops in histories])


def touching_is_order(histories: Histories) -> list[int]:
    def doubled(op: Op) -> Op:
        return op._replace(start=2 * op.start, end=op.end if op.end >= INF else max(2 * op.start, 2 * op.end - 1))

    deltas = _judged([[doubled(op) for op in ops] for ops in histories])
    return [INF if delta >= INF else (delta + 1) // 2 for delta in deltas]


def no_future_read_test(histories: Histories) -> list[int]:
    def present(ops: Sequence[Op]) -> list[Op]:
        written = {op.value: op.start for op in ops if op.kind == "write"} | {0: -INF}
        return [op for op in ops if op.end >= written.get(op.value, INF)]

    return _judged([present(ops) for ops in histories])


def initial_state_is_no_write(histories: Histories) -> list[int]:
    return _judged([[op for op in ops if op.value != 0] for ops in histories])


def _each(formulation: Callable[[Sequence[Op]], int]) -> Callable[[Histories], list[int]]:
    def judge(histories: Histories) -> list[int]:
        return [formulation(ops) for ops in histories]

    judge.__name__ = formulation.__name__
    return judge


MUTANTS: tuple[Callable[[Histories], list[int]], ...] = (
    _each(forward_zones_only), _each(without_the_floor), _each(moving_both_ends), greatest_staleness,
    open_write_dropped, open_write_closed_at_its_return, touching_is_order, no_future_read_test,
    initial_state_is_no_write,
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_twin_kills_wrong_formulations(mutant: Callable[[Histories], list[int]]) -> None:
    histories = list(bulk(register_history, 1500, seed=11))
    assert any(told != twin_delta(ops) for ops, told in zip(histories, mutant(histories), strict=True))


def staleness_counts_from_the_write_of_what_was_read(ops: Sequence[Op], read: Op) -> int:
    """Mutant: evidence for a version is the return of its write, not its first read."""
    own = next((op.end for op in ops if op.kind == "write" and op.value == read.value), -INF)
    newer = [op.end for op in ops if op.kind == "write" and op.start > own]
    return max(0, read.start - min(newer, default=INF))


def staleness_is_delta(ops: Sequence[Op], read: Op) -> int:
    """Mutant: a read is as stale as its history."""
    return twin_delta(ops)


@pytest.mark.parametrize("mutant", [staleness_counts_from_the_write_of_what_was_read, staleness_is_delta])
def test_the_twin_kills_wrong_staleness(mutant: Callable[[Sequence[Op], Op], int]) -> None:
    histories = bulk(register_history, 800, seed=12)
    assert any(mutant(ops, op) != twin_staleness(ops, op) for ops in histories for op in ops if op.kind == "read")


def test_a_version_written_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="written twice"):
        judge_versions(*register_columns([[Op("write", 0, 1, 1), Op("write", 2, 3, 1)]]))


def test_empty_and_huge_names() -> None:
    none = np.zeros(0, np.int64)
    assert judge_versions(none, none, none > 0, none, none).delta.tolist() == []
    names, versions = np.array([1 << 61, -(1 << 61)]), np.array([1 << 40, 1])
    report = judge_versions(names, versions, np.array([True, True]), np.array([0, 0]), np.array([1, 1]))
    assert report.names.tolist() == sorted(names.tolist()) and report.delta.tolist() == [0, 0]
