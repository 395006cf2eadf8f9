"""Session guarantees on one name: monotonic reads, read your writes (Terry et al., PDIS 1994), and coherence. O(n).

A session is one worker with one observer class. Program order is exact whatever the clocks say, so a history can pass
as linearizable on widened stamps and still break a session guarantee. An open write is no item of its session: it may
take effect after what the session does next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fsconform.oracles.operations import Cluster, Op, clusters
from fsconform.vocabulary.histories import INF


class Regression(NamedTuple):
    """A session went back. `kind`: `monotonic-reads`, `read-your-writes`, `flip-flop` (v, another one, v again) or
    `future-read` (a session read its own version before it wrote it)."""

    kind: str
    op: Op


@dataclass(slots=True)
class _Session:
    seen: set[int] = field(default_factory=set)
    last: int = -1
    newest: int = -INF
    """Greatest write start among the versions seen."""
    newest_is_own: bool = False


def session_regressions(ops: Sequence[Op]) -> list[Regression]:
    """Where sessions of one name went back; `ops` of each session in program order, writes of unique versions.

    Exact: a session is clean iff some order of the versions that real time allows never makes it go back. Empty where
    a read comes from the future (a finding of its own).
    """
    known = clusters(ops)
    if known is None:
        return []
    sessions: dict[int, _Session] = defaultdict(_Session)
    return [
        Regression(kind, op)
        for op in ops
        if not (op.kind == "write" and op.end >= INF) and (kind := _item(sessions[op.session], op, known[op.value]))
    ]


def _item(session: _Session, op: Op, cluster: Cluster) -> str:
    """Takes the next item of a session; what is wrong with it, empty where nothing is."""
    wrong = ""
    if op.kind == "write":
        wrong = "future-read" if op.value in session.seen else ""
    elif op.value in session.seen and session.last != op.value:
        wrong = "flip-flop"
    elif cluster.first < session.newest:
        wrong = "read-your-writes" if session.newest_is_own else "monotonic-reads"
    session.seen.add(op.value)
    session.last = op.value
    if cluster.start > session.newest:
        session.newest, session.newest_is_own = cluster.start, op.kind == "write"
    return wrong


def session_opportunities(ops: Sequence[Op]) -> int:
    """Reads of a session that had an item before them, with a write of another session begun in between or later."""
    writes = sorted(op.start for op in ops if op.kind == "write")
    previous: dict[int, int] = {}
    count = 0
    for op in ops:
        before = previous.get(op.session)
        if op.kind == "read" and before is not None and writes and writes[0] <= op.end and writes[-1] >= before:
            count += 1
        if op.end < INF:
            previous[op.session] = op.start
    return count


def coherent(ops: Sequence[Op]) -> bool:
    """Sequential consistency of one name with unique versions; `ops` of each session in program order.

    Every version becomes a node, consecutive items of a session an edge; coherent iff that graph has no cycle (in
    general the problem is NP-complete: Cantin, Lipasti & Smith, TPDS 2005). Real time is not used.
    """
    writes = {op.value: op for op in ops if op.kind == "write"}
    reads = {op.value for op in ops if op.kind == "read"}
    if reads - writes.keys() - {0}:
        return False
    edges: dict[int, set[int]] = defaultdict(set)
    last: dict[int, int] = {}
    read_by: set[tuple[int, int]] = set()
    for op in ops:
        if op.kind == "read":
            read_by.add((op.session, op.value))
        elif (op.session, op.value) in read_by:
            return False  # the session read its own version before it wrote it
        elif op.end >= INF and op.value not in reads:
            continue  # nobody needs it: it never happened
        before = last.get(op.session, 0)
        if before != op.value:
            edges[before].add(op.value)
        if op.kind == "read" or op.end < INF:
            last[op.session] = op.value
    nodes = reads | {version for version, op in writes.items() if op.end < INF} | {0}
    return _acyclic(nodes, edges) and not any(0 in successors for successors in edges.values())


def _acyclic(nodes: set[int], edges: dict[int, set[int]]) -> bool:
    pending = dict.fromkeys(nodes, 0)
    for successors in edges.values():
        for node in successors:
            pending[node] += 1
    ready = [node for node, count in pending.items() if not count]
    done = 0
    while ready:
        done += 1
        for node in edges.get(ready.pop(), ()):
            pending[node] -= 1
            if not pending[node]:
                ready.append(node)
    return done == len(pending)
