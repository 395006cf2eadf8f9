"""Brute-force twins: every oracle's verdict by trying all orders that real time allows.

Slow, short and obviously right; nothing here is shared with the oracles. Time is small integers with many ties; a
precedes b iff a.end < b.start (touching is concurrent); end == INF: may take effect at any time after start, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

INF = 1 << 62


class Op(NamedTuple):
    """One operation on one name; `value` is a version or incarnation id (0 = initial state)."""

    kind: str
    start: int
    end: int
    value: int = 0
    session: int = 0
    name: int = 0


Step = Callable[[int, Op], int | None]
"""Sequential specification: state and operation -> next state, None where the operation cannot happen."""


def step_once(state: int, op: Op) -> int | None:
    """A name that is never removed; 0 absent, 1 present."""
    if op.kind == "win":
        return 1 if state == 0 else None
    if op.kind in ("publish", "maybe"):
        return 1
    if op.kind in ("present", "lose"):
        return 1 if state == 1 else None
    assert op.kind == "absent"
    return 0 if state == 0 else None


def step_register(state: int, op: Op) -> int | None:
    """A replaceable name with unique versions."""
    if op.kind == "write":
        return op.value
    return state if state == op.value else None


def step_life(state: int, op: Op) -> int | None:
    """A name that is created, replaced, removed and re-created; state: 0 absent, else the incarnation."""
    match op.kind:
        case "create":
            return op.value if state == 0 else None
        case "maybe_create":
            return op.value if state == 0 else state
        case "replace":
            return op.value
        case "unlink":
            return 0 if state else None
        case "maybe_unlink":
            return 0
        case "read":
            return state if state == op.value else None
        case "present":
            return state if state else None
        case _:
            assert op.kind == "absent"
            return 0 if state == 0 else None


def linearizable(ops: Sequence[Op], step: Step, init: int = 0) -> bool:
    """Whether some order of the operations, allowed by real time, satisfies the specification."""

    def go(rest: frozenset[int], state: int) -> bool:
        if all(ops[i].end >= INF for i in rest):
            return True  # what never returned may never have happened
        bound = min(ops[i].end for i in rest)
        for i in rest:
            if ops[i].start <= bound:
                after = step(state, ops[i])
                if after is not None and go(rest - {i}, after):
                    return True
        return False

    return go(frozenset(range(len(ops))), init)


def least_shift(ops: Sequence[Op], step: Step, looks: Iterable[str]) -> int:
    """Delta by definition: least d such that moving the start of every look d earlier makes the history atomic."""
    kinds = set(looks)
    ends = {op.end for op in ops if op.end < INF}
    for shift in sorted({0} | {op.start - end for op in ops if op.kind in kinds for end in ends if op.start > end}):
        moved = [op._replace(start=op.start - shift) if op.kind in kinds else op for op in ops]
        if linearizable(moved, step):
            return shift
    return INF
