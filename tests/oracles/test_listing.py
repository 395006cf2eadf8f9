"""What listings owe to a name, against the twin: all orders of the mutations, with a look over the whole listing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from fsconform.oracles.listing import Change, Duty, listing_duty
from fsconform.vocabulary.histories import Ints
from tests.oracles.histories import Pick, bulk, drawn, interval, life_history
from tests.oracles.twins import INF, Op, linearizable, step_life

Case = tuple[list[Op], int, int]
"""Mutations of a name, start and end of a listing."""
DutyOf = Callable[[Ints, Ints, Ints, Ints, Ints], Ints]


def draw_case(pick: Pick) -> Case:
    mutations = [op for op in life_history(pick) if op.kind not in ("read", "present", "absent")]
    return mutations, *interval(pick)


def columns(cases: Sequence[Case]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    width = max(1, max(len(mutations) for mutations, *_ in cases))
    padded = [mutations + [Op("none", 0, 0)] * (width - len(mutations)) for mutations, *_ in cases]

    def matrix(get: Callable[[Op], int]) -> Ints:
        return np.array([[get(op) for op in row] for row in padded], np.int64)

    starts, ends = (np.array([case[k] for case in cases], np.int64) for k in (1, 2))
    change = matrix(lambda op: int(Change[op.kind.upper()]))
    return starts, ends, change, matrix(lambda op: op.start), matrix(lambda op: op.end)


def wrong(case: Case, duty: int) -> bool:
    """Whether a duty accuses a directory that some order of the mutations explains."""
    mutations, start, end = case
    if duty == Duty.MUST:
        replaced = any(op.kind == "replace" and op.start <= end and op.end >= start for op in mutations)
        return replaced or linearizable([*mutations, Op("absent", start, end)], step_life)
    return duty == Duty.MUST_NOT and linearizable([*mutations, Op("present", start, end)], step_life)


def possible(cases: Sequence[Case]) -> list[Case]:
    """Those whose mutations alone have an order: a broken store owes nothing."""
    return [case for case in cases if linearizable(case[0], step_life)]


def check(cases: Sequence[Case]) -> list[int]:
    duties: list[int] = listing_duty(*columns(cases)).tolist()
    for case, duty in zip(cases, duties, strict=True):
        assert not wrong(case, duty), (case, Duty(duty))
    return duties


def test_no_duty_accuses_the_innocent_and_each_occurs() -> None:
    duties = check(possible(list(bulk(draw_case))))
    assert all(duties.count(duty) > 50 for duty in Duty)


@settings(max_examples=100, deadline=None)
@given(drawn(draw_case))
def test_no_duty_accuses_the_innocent(case: Case) -> None:
    if linearizable(case[0], step_life):
        check([case])


def test_present_throughout_is_a_must_and_gone_throughout_a_must_not() -> None:
    start, end = np.array([10, 10, 10, 10]), np.array([20, 20, 20, 20])
    create, unlink = int(Change.CREATE), int(Change.UNLINK)
    change = np.array([[create, int(Change.NONE)], [create, unlink], [create, unlink], [create, int(Change.REPLACE)]])
    invoked = np.array([[1, 0], [1, 4], [1, 15], [1, 12]], np.int64)
    returned = np.array([[2, 0], [2, 6], [2, 16], [2, 13]], np.int64)
    duty = listing_duty(start, end, change.astype(np.int64), invoked, returned)
    assert duty.tolist() == [Duty.MUST, Duty.MUST_NOT, Duty.MAY, Duty.MAY]
    stable = listing_duty(start, end, change.astype(np.int64), invoked, returned, replace_stable=True)
    assert stable.tolist() == [Duty.MUST, Duty.MUST_NOT, Duty.MAY, Duty.MUST]


def _believing(change: Ints, of: Change, instead: Change) -> Ints:
    return np.where(change == of, int(instead), change).astype(np.int64)


MUTANTS: dict[str, DutyOf] = {
    "removals that failed with EIO did not happen": lambda start, end, change, invoked, returned: listing_duty(
        start, end, _believing(change, Change.MAYBE_UNLINK, Change.NONE), invoked, returned
    ),
    "creates that failed with EIO did not happen": lambda start, end, change, invoked, returned: listing_duty(
        start, end, _believing(change, Change.MAYBE_CREATE, Change.NONE), invoked, returned
    ),
    "a replaced entry keeps its place": lambda start, end, change, invoked, returned: listing_duty(
        start, end, change, invoked, returned, replace_stable=True
    ),
    "touching is order": lambda start, end, change, invoked, returned: listing_duty(
        2 * start, 2 * end, change, 2 * invoked, np.where(returned >= INF, INF, 2 * returned - 1)
    ),
    "the listing happens at its end": lambda start, end, change, invoked, returned: listing_duty(
        end, end, change, invoked, returned
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_twin_kills_wrong_formulations(name: str) -> None:
    cases = possible(list(bulk(draw_case, 2000, seed=5)))
    duties = MUTANTS[name](*columns(cases)).tolist()
    assert any(wrong(case, duty) for case, duty in zip(cases, duties, strict=True))
