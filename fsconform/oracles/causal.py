"""Several names: writes follow reads and monotonic writes (Terry et al., PDIS 1994). O(n * names).

"Manifest seen, data not." For every version its writer's past is kept: per name the greatest write start among what
the writer had written or read before. Readers of the version inherit it, and reading on any name a version that is
surely older than that past is a finding. Programs are processed in program order, a read waits for its write; what
waits for ever is a cycle. These are the bad patterns WriteCORead, WriteCOInitRead and CyclicCO of Bouajjani et al.
(POPL 2017) with the real-time order of writes added. Sound: a linearizable history is never accused.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from fsconform.oracles.operations import Cluster, Op, by_name, clusters
from fsconform.vocabulary.histories import INF

Past = dict[int, int]
"""Name -> greatest write start in the causal past."""


class Disorder(NamedTuple):
    """`older-than-past`: a read of something older than what its reader causally knew; `causal-cycle`."""

    kind: str
    op: Op


def causal_regressions(ops: Sequence[Op]) -> list[Disorder]:
    """Reads that contradict causality over the names of `ops`; each session in program order, versions unique per name.

    Empty where a read comes from the future (a finding of its own).
    """
    known: dict[int, dict[int, Cluster]] = {}
    for name, own in by_name(ops).items():
        found = clusters(own)
        if found is None:
            return []
        known[name] = found
    return _Sweep(ops, known).run()


class _Sweep:
    def __init__(self, ops: Sequence[Op], known: dict[int, dict[int, Cluster]]) -> None:
        self.known = known
        self.queues: dict[int, deque[Op]] = defaultdict(deque)
        for op in ops:
            self.queues[op.session].append(op)
        self.pasts: dict[int, Past] = {session: dict.fromkeys(known, -INF) for session in self.queues}
        self.written: dict[tuple[int, int], Past] = {}
        self.waiting: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.found: list[Disorder] = []

    def run(self) -> list[Disorder]:
        ready = list(self.queues)
        while ready:
            self._advance(ready.pop(), ready)
        self.found += [Disorder("causal-cycle", queue[0]) for queue in self.queues.values() if queue]
        return self.found

    def _advance(self, session: int, ready: list[int]) -> None:
        """Processes a session up to a read whose write has not been reached."""
        queue, past = self.queues[session], self.pasts[session]
        while queue:
            op = queue[0]
            key = op.name, op.value
            if op.kind == "read" and op.value and key not in self.written:
                self.waiting[key].append(session)
                return
            queue.popleft()
            if op.kind == "write":
                if op.end < INF:
                    past[op.name] = max(past[op.name], op.start)
                self.written[key] = {**past, op.name: max(past[op.name], op.start)}
                ready += self.waiting.pop(key, [])
            else:
                self._read(op, past)

    def _read(self, op: Op, past: Past) -> None:
        if self.known[op.name][op.value].first < past[op.name]:
            self.found.append(Disorder("older-than-past", op))
        for name, start in self.written.get((op.name, op.value), {}).items():
            past[name] = max(past[name], start)
