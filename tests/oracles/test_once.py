"""Create-once names against the twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from fsconform.oracles.once import OnceKind, judge_once
from tests.oracles import mutants
from tests.oracles.columns import once_columns, once_verdicts
from tests.oracles.histories import bulk, drawn, once_history
from tests.oracles.twins import INF, Op, least_shift, linearizable, step_once

LOOKS = ("present", "absent", "lose")


def twin_delta(ops: Sequence[Op]) -> int:
    return least_shift(ops, step_once, LOOKS)


def twin_stale(ops: Sequence[Op]) -> int:
    published = [op.end for op in ops if op.kind in ("win", "publish")]
    misses = [op.start for op in ops if op.kind == "absent"]
    return max((miss - end for miss in misses for end in published), default=0) if published else 0


def check(histories: Sequence[Sequence[Op]]) -> None:
    report = judge_once(*once_columns(histories))
    for number, ops in enumerate(histories):
        assert report.delta[number] == twin_delta(ops), ops
        assert report.stale[number] == max(0, twin_stale(ops)), ops
        assert bool(report.refuted[number]) != linearizable(ops, step_once), ops
        named = (report.two_winners | report.phantom | report.win_over_existing)[number]
        assert bool(named) == (report.delta[number] >= INF), ops


def test_agrees_with_the_twin_on_random_histories() -> None:
    check(list(bulk(once_history)))


@settings(max_examples=150, deadline=None)
@given(drawn(once_history))
def test_agrees_with_the_twin(ops: list[Op]) -> None:
    check([ops])


@pytest.mark.parametrize("mutant", mutants.ONCE, ids=lambda mutant: mutant.__name__)
def test_the_twin_kills_wrong_formulations(mutant: mutants.OnceJudge) -> None:
    histories = list(bulk(once_history, 1500, seed=2))
    delta = mutant(*once_columns(histories)).delta.tolist()
    assert any(delta[number] != twin_delta(ops) for number, ops in enumerate(histories))


def test_each_look_has_its_own_staleness() -> None:
    kinds = np.array([OnceKind.PUBLISH, OnceKind.ABSENT, OnceKind.PRESENT, OnceKind.ABSENT, OnceKind.ABSENT])
    invoked, returned = np.array([0, 5, 12, 14, 3]), np.array([10, 20, 13, 15, 4])
    report = judge_once(np.zeros(5, np.int64), kinds.astype(np.int64), invoked, returned)
    assert report.look_stale.tolist() == [0, 0, 0, 4, 0]
    assert report.opportunities == 2
    assert report.known.tolist() == [10] and report.present.tolist() == [10]


def test_names_may_come_in_any_order_and_mixture() -> None:
    histories = list(bulk(once_history, 50, seed=3))
    columns = once_columns(histories)
    shuffled = np.random.default_rng(0).permutation(len(columns[0]))
    straight, mixed = judge_once(*columns), judge_once(*(column[shuffled] for column in columns))
    assert once_verdicts(straight) == once_verdicts(mixed)
    assert straight.look_stale[shuffled].tolist() == mixed.look_stale.tolist()


def test_nothing_is_no_history() -> None:
    none = np.zeros(0, np.int64)
    assert judge_once(none, none, none, none).names.tolist() == []


def test_eexist_for_all_without_any_creator_is_no_winner() -> None:
    kinds = np.array([OnceKind.LOSE, OnceKind.LOSE, OnceKind.LOSE, OnceKind.MAYBE], np.int64)
    report = judge_once(np.array([0, 0, 1, 1]), kinds, np.array([0, 1, 5, 0]), np.array([2, 3, 9, 1]))
    assert report.no_winner.tolist() == [True, False]
    assert report.phantom.tolist() == [True, False]
