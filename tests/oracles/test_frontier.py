"""The frontier against the twin, on every object; its cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings

from fsconform.oracles.frontier import sweep
from fsconform.oracles.objects import LIFE_LOOKS, PAIR_LOOKS, life, pair
from fsconform.oracles.operations import Op
from tests.oracles import twins
from tests.oracles.histories import Pick, bulk, drawn, interval, life_history, register_history
from tests.oracles.twins import INF, linearizable, step_life, step_register


def history(ops: Sequence[twins.Op]) -> list[Op]:
    return [Op(*op) for op in ops]


def passes(ops: Sequence[twins.Op]) -> bool:
    return sweep(history(ops), life, 0, LIFE_LOOKS).violation is None


def test_names_that_die_agree_with_the_twin() -> None:
    verdicts = [(passes(ops), linearizable(ops, step_life)) for ops in bulk(life_history)]
    assert all(fast == slow for fast, slow in verdicts)
    assert 0.1 < sum(slow for _, slow in verdicts) / len(verdicts) < 0.9


@settings(max_examples=150, deadline=None)
@given(drawn(life_history))
def test_names_that_die(ops: list[twins.Op]) -> None:
    assert passes(ops) == linearizable(ops, step_life)


def test_registers_agree_with_the_twin() -> None:
    for ops in bulk(register_history, 1500, seed=4):
        found = sweep(history(ops), step_register_of, 0, frozenset({"read"}))
        assert (found.violation is None) == linearizable(ops, step_register), ops


def step_register_of(state: int, op: Op) -> int | None:
    return step_register(state, twins.Op(*op))


def pair_history(pick: Pick) -> list[twins.Op]:
    """Two names of one file: renames, links, removals, looks at either."""
    kinds = ("rename", "maybe_rename", "link", "maybe_link", "unlink", "maybe_unlink", "present", "present", "absent",
             "absent")  # fmt: skip
    ops = []
    for _ in range(pick(1, 6)):
        kind = kinds[pick(0, 9)]
        start, end = interval(pick)
        name = pick(0, 1) if kind in ("unlink", "maybe_unlink", "present", "absent") else 0
        ops.append(twins.Op(kind, start, INF if kind.startswith("maybe") else end, name=name))
    return ops


def step_pair(state: int, op: twins.Op) -> int | None:
    """Twin of `objects.pair`; bit 0: the old name is there, bit 1: the new one."""
    bit = 1 << op.name
    if op.kind == "present":
        return state if state & bit else None
    if op.kind == "absent":
        return None if state & bit else state
    maybe, kind = op.kind.startswith("maybe"), op.kind.removeprefix("maybe_")
    outcome = {
        "rename": {1: 2, 3: 3}, "link": {1: 3},
        "unlink": {bit: 0, 3: 3 - bit},
    }[kind].get(state)  # fmt: skip
    return state if outcome is None and maybe else outcome


def test_renames_over_two_names_agree_with_the_twin() -> None:
    for ops in bulk(pair_history, seed=6):
        found = sweep(history(ops), pair, (True, False), PAIR_LOOKS)
        assert (found.violation is None) == linearizable(ops, step_pair, 1), ops


def test_neither_name_in_the_innocent_order_is_found() -> None:
    looks = [Op("absent", 5, 6, name=0), Op("absent", 7, 8, name=1)]
    assert sweep([Op("rename", 0, 9), *looks], pair, (True, False), PAIR_LOOKS).violation is not None
    guilty_looking = [Op("absent", 5, 6, name=1), Op("absent", 7, 8, name=0)]
    assert sweep([Op("rename", 0, 9), *guilty_looking], pair, (True, False), PAIR_LOOKS).violation is None


def open_dropped(ops: Sequence[twins.Op]) -> bool:
    """Mutant: a removal or create told EIO did not happen."""
    return passes([op for op in ops if op.end < INF])


def removal_is_known(ops: Sequence[twins.Op]) -> bool:
    """Mutant: nothing was removed and born again: ENOENT after a create returned needs a removal in the history."""
    removals = [op for op in ops if op.kind in ("unlink", "maybe_unlink")]
    births = [op for op in ops if op.kind in ("create", "replace") and op.end < INF]
    return not any(
        look.kind == "absent" and birth.end < look.start
        and not any(birth.start <= removal.end and removal.start <= look.end for removal in removals)
        for look in ops for birth in births
    )  # fmt: skip


def returns_come_first(ops: Sequence[twins.Op]) -> bool:
    """Mutant: touching intervals are ordered."""
    doubled = [op._replace(start=2 * op.start, end=op.end if op.end >= INF else max(2 * op.start, 2 * op.end - 1))
               for op in ops]  # fmt: skip
    return passes(doubled)


MUTANTS = (open_dropped, removal_is_known, returns_come_first)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_twin_kills_wrong_formulations(mutant: Callable[[Sequence[twins.Op]], bool]) -> None:
    assert any(mutant(ops) != linearizable(ops, step_life) for ops in bulk(life_history, 3000, seed=5))


def test_beyond_the_cap_there_is_no_verdict() -> None:
    wide = [Op("maybe_create", 0, INF, number) for number in range(1, 13)] + [Op("maybe_unlink", 0, INF)] * 8
    found = sweep([*wide, Op("read", 1, 2, 99)], life, 0, LIFE_LOOKS, cap=500)
    assert found.undecided and found.violation is None


def test_the_violating_operation_is_named() -> None:
    look = Op("absent", 5, 6)
    assert sweep([Op("create", 0, 1, 1), look], life, 0, LIFE_LOOKS).violation == look


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="grow"):
        sweep([Op("grow", 0, 1)], life, 0, LIFE_LOOKS)
    with pytest.raises(ValueError, match="grow"):
        sweep([Op("grow", 0, 1)], pair, (True, False), PAIR_LOOKS)
