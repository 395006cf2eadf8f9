"""Staleness of names that die: sound against the twin, and the special case of names that do not die exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from fsconform.oracles.lifetimes import LifeKind, judge_lifetimes
from fsconform.vocabulary.histories import Ints
from tests.oracles.histories import bulk, drawn, life_history
from tests.oracles.twins import INF, Op, linearizable, step_life

LOOKS = ("read", "present", "absent")
Judge = Callable[[Ints, Ints, Ints, Ints, Ints], list[int]]


def columns(histories: Sequence[Sequence[Op]]) -> tuple[Ints, ...]:
    rows = [
        (name, int(LifeKind[op.kind.upper()]), op.value, op.start, op.end)
        for name, ops in enumerate(histories)
        for op in ops
    ]
    return tuple(np.array(rows, np.int64).reshape(-1, 5).T)


def judged(name: Ints, kind: Ints, value: Ints, invoked: Ints, returned: Ints) -> list[int]:
    staleness: list[int] = judge_lifetimes(name, kind, value, invoked, returned).staleness.tolist()
    return staleness


def unsound(ops: Sequence[Op], look: Op, stale: int) -> bool:
    """Whether a look that is said to be false for `stale` is explained when it begins one tick less than that before.

    Evidence counts: an incarnation that was read is taken to have been born by then.
    """
    changes = [op for op in ops if op.kind not in LOOKS]
    if not linearizable(changes, step_life):
        return False  # a broken store proves anything
    if stale >= INF:
        return linearizable([*changes, look._replace(start=-99)], step_life)
    proved = [
        op._replace(end=min([op.end, *(read.end for read in ops if read.kind == "read" and read.value == op.value)]))
        if op.value else op
        for op in changes
    ]  # fmt: skip
    return linearizable([*proved, look._replace(start=look.start - stale + 1)], step_life)


def accusations(histories: Sequence[Sequence[Op]], judge: Judge) -> list[tuple[Sequence[Op], Op, int]]:
    staleness = iter(judge(*columns(histories)))
    found = [(ops, op, next(staleness)) for ops in histories for op in ops]
    return [(ops, op, stale) for ops, op, stale in found if stale > 0]


def check(histories: Sequence[Sequence[Op]]) -> int:
    found = accusations(histories, judged)
    for ops, look, stale in found:
        assert look.kind in LOOKS
        assert not linearizable(ops, step_life), (ops, look)
        assert not unsound(ops, look, stale), (ops, look, stale)
    return len({id(ops) for ops, *_ in found})


def test_every_accusation_is_sound_and_many_violations_are_found() -> None:
    histories = list(bulk(life_history))
    broken = sum(not linearizable(ops, step_life) for ops in histories)
    assert check(histories) > broken / 4


@settings(max_examples=100, deadline=None)
@given(drawn(life_history))
def test_every_accusation_is_sound(ops: list[Op]) -> None:
    check([ops])


def open_removals_dropped(name: Ints, kind: Ints, value: Ints, invoked: Ints, returned: Ints) -> list[int]:
    """Mutant: a removal told EIO did not happen."""
    return judged(name, np.where(kind == LifeKind.MAYBE_UNLINK, LifeKind.NONE, kind), value, invoked, returned)


def open_births_dropped(name: Ints, kind: Ints, value: Ints, invoked: Ints, returned: Ints) -> list[int]:
    """Mutant: a create told EIO did not happen."""
    return judged(name, np.where(kind == LifeKind.MAYBE_CREATE, LifeKind.NONE, kind), value, invoked, returned)


def touching_is_order(name: Ints, kind: Ints, value: Ints, invoked: Ints, returned: Ints) -> list[int]:
    """Mutant: an operation that returns when another begins precedes it."""
    shorter = np.where(returned >= INF, INF, np.maximum(2 * invoked, 2 * returned - 1))
    return [(stale + 1) // 2 if stale < INF else INF for stale in judged(name, kind, value, 2 * invoked, shorter)]


@pytest.mark.parametrize("mutant", [open_removals_dropped, open_births_dropped, touching_is_order],
                         ids=lambda m: m.__name__)  # fmt: skip
def test_the_twin_kills_wrong_formulations(mutant: Judge) -> None:
    histories = [ops for ops in bulk(life_history, 4000, seed=8) if linearizable(ops, step_life)]
    assert accusations(histories, mutant)


def test_each_kind_of_look_has_its_staleness() -> None:
    ops = [
        Op("create", 0, 2, 1), Op("unlink", 10, 12), Op("read", 20, 21, 1), Op("present", 22, 23),
        Op("absent", 5, 6), Op("absent", 30, 31), Op("present", 1, 2), Op("read", -5, -4, 1),
    ]  # fmt: skip
    name, kind, value, invoked, returned = columns([ops])
    report = judge_lifetimes(name, kind, value, invoked, returned)
    assert report.staleness.tolist() == [0, 0, 8, 10, 3, 0, 0, INF]
    assert report.opportunities == 4
