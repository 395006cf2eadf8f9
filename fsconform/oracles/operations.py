"""Operations one by one, for the oracles that walk through a history instead of reducing columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fsconform.vocabulary.histories import INF


class Op(NamedTuple):
    """One operation; `value` is a version or the id of an incarnation, 0 the initial state."""

    kind: str
    """For registers `write` and `read`; for other objects what their sequential specification knows."""
    start: int
    """ns, widened by the clock error."""
    end: int
    """ns; INF: may take effect at any time after `start`, or never."""
    value: int = 0
    session: int = 0
    name: int = 0


@dataclass(slots=True)
class Cluster:
    """What speaks of one version of one name: see `replaceable` for f, W and s."""

    first: int
    start: int


def clusters(ops: Iterable[Op]) -> dict[int, Cluster] | None:
    """The clusters of one name; None where a read saw bytes that nobody wrote, or from before they were written.

    Raises ValueError where a version is written twice.
    """
    known = {0: Cluster(-INF, -INF)}
    reads: list[Op] = []
    for op in ops:
        if op.kind != "write":
            reads.append(op)
        elif op.value in known:
            raise ValueError(f"version {op.value} is written twice: give every attempt its own version")
        else:
            known[op.value] = Cluster(op.end, op.start)
    for read in reads:
        cluster = known.get(read.value)
        if cluster is None or read.end < cluster.start:
            return None
        cluster.first = min(cluster.first, read.end)
    return known


def by_name(ops: Sequence[Op]) -> dict[int, list[Op]]:
    """The operations of each name, in their order."""
    out: dict[int, list[Op]] = {}
    for op in ops:
        out.setdefault(op.name, []).append(op)
    return out
