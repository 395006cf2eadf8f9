"""Small histories with many ties, lost operations and ambiguous errno, drawn by Hypothesis or by a seeded generator."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

from hypothesis import strategies as st

from tests.oracles.twins import INF, Op

Pick = Callable[[int, int], int]
"""An integer between two bounds, both included."""
History = TypeVar("History")

BULK = int(os.environ.get("FSCONFORM_ORACLE_HISTORIES", "3000"))
"""Random histories per object; the full comparison uses 120000 (docs/oracles.md)."""


def bulk(draw: Callable[[Pick], History], number: int = BULK, seed: int = 1) -> Iterator[History]:
    """`number` histories of a seeded generator."""
    source = random.Random(seed)
    for _ in range(number):
        yield draw(source.randint)


def drawn(draw: Callable[[Pick], History]) -> st.SearchStrategy[History]:
    """The same histories as a Hypothesis strategy, which shrinks disagreements."""

    @st.composite
    def strategy(take: st.DrawFn) -> History:
        return draw(lambda low, high: take(st.integers(low, high)))

    return strategy()


def interval(pick: Pick, lost_of_100: int = 0) -> tuple[int, int]:
    """Start and end; lost ones never return."""
    start = pick(0, 11)
    end = start + (0, 1, 1, 2, 3, 6)[pick(0, 5)]
    return start, INF if pick(1, 100) <= lost_of_100 else end


def once_history(pick: Pick) -> list[Op]:
    """A name that is never removed."""
    kinds = ("win", "lose", "publish", "publish", "maybe", "present", "present", "absent", "absent")
    ops = []
    for _ in range(pick(1, 6)):
        kind = kinds[pick(0, 8)]
        start, end = interval(pick)
        ops.append(Op(kind, start, INF if kind == "maybe" else end, 1))
    return ops


def life_history(pick: Pick) -> list[Op]:
    """A name that is created, replaced, removed, re-created."""
    kinds = ("create", "create", "create", "unlink", "unlink", "read", "read", "present", "absent", "absent", "replace",
             "maybe_unlink", "maybe_create")  # fmt: skip
    ops: list[Op] = []
    version = 0
    for _ in range(pick(1, 6)):
        kind = kinds[pick(0, 12)]
        start, end = interval(pick)
        if kind.startswith("maybe"):
            end = INF
        if kind in ("create", "replace", "maybe_create"):
            version += 1
            ops.append(Op(kind, start, end, version))
        elif kind == "read":
            ops.append(Op(kind, start, end, pick(1, max(1, version + pick(0, 1)))))
        else:
            ops.append(Op(kind, start, end))
    return ops


def register_history(pick: Pick) -> list[Op]:
    """A replaceable name: writes of unique versions, some of them lost, and reads, also of bytes nobody wrote."""
    number = pick(1, 6)
    writes = pick(0, min(4, number))
    ops = []
    for version in range(1, writes + 1):
        start, end = interval(pick, lost_of_100=15)
        ops.append(Op("write", start, end, version, pick(0, 2)))
    for _ in range(number - writes):
        start, end = interval(pick)
        ops.append(Op("read", start, end, pick(0, writes) if pick(1, 50) > 1 else 9, pick(0, 2)))
    return ops


def session_history(pick: Pick) -> list[Op]:
    """One name, 1-3 sequential sessions, at most 6 operations in program order."""
    ops: list[Op] = []
    version = 0
    for session in range(pick(1, 3)):
        now = pick(0, 3)
        for _ in range(pick(1, 3)):
            if len(ops) >= 6:
                break
            took = (0, 1, 2, 4)[pick(0, 3)]
            if pick(1, 100) <= 45:
                version += 1
                lost = pick(1, 10) == 1
                ops.append(Op("write", now, INF if lost else now + took, version, session))
            else:
                ops.append(Op("read", now, now + took, -1, session))
            now += took + pick(0, 2)
    return [op._replace(value=pick(0, version)) if op.value == -1 else op for op in ops]
