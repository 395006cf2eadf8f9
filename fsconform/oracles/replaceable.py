"""Replaceable names with unique versions: linearizability, Delta with its witness pair, staleness per read. O(n log n).

All operations that speak of one version form a cluster: W = start of its write, f = first return in the cluster
(evidence that the version was there), s = start of its last read. Delta (Golab, Li & Shah, PODC 2011) is the least D
such that moving the start of every read D earlier, its end unmoved, makes the history atomic; 0 iff linearizable.
Versions a, b conflict at D iff f_a < max(W_b, s_b - D) and the same with a, b exchanged, and a history without reads
from the future is atomic iff no pair conflicts (docs/oracles.md has the proof; for D = 0 this is the zone test of
Gibbons & Korach, SIAM J. Comput. 26(4) 1997). Hence

    Delta = max(0, max_a s_a - min{f_b : W_b > f_a},              order of a, b forced
                   max_b s_b - min{f_a : f_a + s_a >= f_b + s_b})  order free: the cheaper of the two

Staleness of a read of v that began at t is max(0, t - min{E_w : W_w > f_v}), E the return of a write: for how long a
surely newer version had been published. All 0 iff every read is regular (Lamport 1986; Shao et al. 2011).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsconform.oracles.outcomes import Bools
from fsconform.oracles.segments import After, grouped, range_minimum, running_minimum
from fsconform.vocabulary.histories import INF, Ints


@dataclass(frozen=True, slots=True)
class VersionReport:
    """Per name (ascending, as `names`); `staleness` per event of the input."""

    names: Ints
    delta: Ints
    """ns; 0: linearizable; INF: a read of bytes that nobody wrote, or from before they were written."""
    future: Bools
    """Such a read exists."""
    older: Ints
    """Version of the witness pair whose read came too late; -1 where delta is 0."""
    newer: Ints
    """The version that was seen before that; -1 where delta is 0 or a read alone is the witness (future)."""
    staleness: Ints
    """ns, per event: 0 for writes; INF for reads from the future."""
    opportunities: int
    """Reads that began after some write had returned."""


@dataclass(frozen=True, slots=True)
class _Clusters:
    """One row per (name, version) that occurs, sorted by name."""

    group: Ints
    """Index of the name."""
    version: Ints
    first: Ints
    """f, ns: first return; -INF for version 0."""
    start: Ints
    """W; INF where nobody wrote the version."""
    end: Ints
    """E."""
    last: Ints
    """s; -INF where nobody read the version."""

    @property
    def future(self) -> Bools:
        return np.asarray((self.start >= INF) | (self.first < self.start), np.bool_)


def judge_versions(name: Ints, version: Ints, is_write: Bools, invoked: Ints, returned: Ints) -> VersionReport:
    """Judges writes and reads of many names at once; flat arrays of equal length.

    `version` 0 is the initial state (absent, or what was seeded), a write at minus infinity. Stamps in ns, widened by
    the clock error; `returned` = INF for a write whose outcome is open. Raises ValueError where a version is written
    twice (a retry needs a version of its own, or must be merged).
    """
    names, order, cut, clusters = _gather(name, version, is_write, invoked, returned)
    later = _Later(clusters)
    delta, older, newer = _delta(clusters, later, len(names))
    since = np.where(clusters.future, -INF, later.minimum(clusters.end, INF))
    per_event = np.repeat(since, np.diff(np.append(cut, len(order))))
    staleness = np.zeros(len(name), np.int64)
    late = np.where(per_event == -INF, INF, np.maximum(0, invoked[order] - per_event))
    staleness[order] = np.where(is_write[order], 0, late)
    return VersionReport(
        names, delta, _per_name(np.maximum, clusters.future.astype(np.int64), clusters.group) > 0,
        older, newer, staleness, _opportunities(clusters, order, cut, is_write, invoked),
    )  # fmt: skip


def delta_bounds(
    name: Ints, version: Ints, is_write: Bools, invoked: Ints, returned: Ints, error: Ints
) -> tuple[Ints, Ints]:
    """Per name, what Delta is surely at least and at most when every stamp is off by up to `error` (ns, per event).

    The lower bound (widened stamps) convicts, the upper one (narrowed stamps) acquits. The upper one takes for granted
    that no read saw a write before it began, where the stamps leave that open.
    """
    lower = judge_versions(name, version, is_write, invoked - error, _shifted(returned, error)).delta
    names, _, _, clusters = _gather(name, version, is_write, invoked + error, _shifted(returned, -error))
    upper = _delta(clusters, _OtherLater(clusters), len(names), future_ok=True)[0]
    return lower, np.where(lower >= INF, INF, np.maximum(lower, upper))


def _shifted(returned: Ints, error: Ints) -> Ints:
    return np.where(returned >= INF, INF, returned + error)


def _gather(
    name: Ints, version: Ints, is_write: Bools, invoked: Ints, returned: Ints
) -> tuple[Ints, Ints, Ints, _Clusters]:
    """Names, the order that groups events by name and version, where groups begin, and the clusters."""
    order, cut = grouped(name, version)
    write, start, end = is_write[order], invoked[order], returned[order]
    if len(cut) and np.add.reduceat(write.astype(np.int64), cut).max(initial=0) > 1:
        raise ValueError("a version is written twice: give every attempt its own version, or merge the attempts")
    names_of, versions = name[order][cut], version[order][cut]
    new_name = np.append(True, names_of[1:] != names_of[:-1])[: len(cut)]
    initial = versions == 0
    clusters = _Clusters(
        group=np.cumsum(new_name) - 1,
        version=versions,
        first=np.where(initial, -INF, _reduced(np.minimum, end, cut)),
        start=np.where(initial, -INF, _reduced(np.minimum, np.where(write, start, INF), cut)),
        end=np.where(initial, -INF, _reduced(np.minimum, np.where(write, end, INF), cut)),
        last=_reduced(np.maximum, np.where(write, -INF, start), cut),
    )
    return names_of[new_name], order, cut, clusters


def _reduced(ufunc: np.ufunc, values: Ints, cut: Ints) -> Ints:
    return np.asarray(ufunc.reduceat(values, cut), np.int64) if len(cut) else np.zeros(0, np.int64)


def _per_name(ufunc: np.ufunc, values: Ints, group: Ints) -> Ints:
    return _reduced(ufunc, values, np.flatnonzero(np.append(True, group[1:] != group[:-1])[: len(group)]))


class _Later(After):
    """For every cluster a: the clusters of the same name whose write began after f_a."""

    def __init__(self, clusters: _Clusters) -> None:
        super().__init__(clusters.group, clusters.start, clusters.group, clusters.first)


class _OtherLater(_Later):
    """The same without the cluster itself: narrowed stamps may put a write after its own evidence."""

    def owner(self, values: Ints) -> Ints:
        order, least, placed = self.ranks(values)
        after = np.append(least, self.rows)[self.row_at + 1]
        ended = np.append(self.groups, -1)[self.row_at + 1] != self.groups[self.row_at]
        between = range_minimum(placed, self.query_at, self.row_at, self.rows)
        others = np.minimum(np.where(ended, self.rows, after), between)
        own = placed[self.row_at] == least[self.query_at]
        return np.asarray(np.append(order, -1)[np.where(own, others, least[self.query_at])], np.int64)


def _delta(clusters: _Clusters, later: _Later, names: int, future_ok: bool = False) -> tuple[Ints, Ints, Ints]:
    """Delta, and the versions of its witness pair, per name."""
    forced = later.owner(clusters.first)
    cost = np.where(forced < 0, 0, clusters.last - clusters.first[forced])
    free = _freely_ordered(clusters)
    other = np.where(free < 0, 0, clusters.last - clusters.first[free])
    partner = np.where(other > cost, free, forced)
    cost = np.maximum(0, np.maximum(cost, other))
    if not future_ok:
        partner, cost = np.where(clusters.future, -1, partner), np.where(clusters.future, INF, cost)
    delta = _per_name(np.maximum, cost, clusters.group)
    worst = np.full(names, -1, np.int64)
    guilty = np.flatnonzero((cost > 0) & (cost == delta[clusters.group]))
    worst[clusters.group[guilty]] = guilty
    partner = np.where(worst < 0, -1, partner[worst])
    version = np.append(clusters.version, -1)
    return delta, version[worst], version[partner]


def _freely_ordered(clusters: _Clusters) -> Ints:
    """For every cluster b: the cluster with the least f before it in descending order of f + s; -1 where none."""
    count = len(clusters.group)
    key = np.maximum(clusters.first + clusters.last, 1 - 2 * INF)  # -2 * INF has no negative
    order = np.lexsort((-key, clusters.group))
    by_first = np.argsort(clusters.first, kind="stable")
    rank = np.empty(count, np.int64)
    rank[by_first] = np.arange(count)
    groups = clusters.group[order]
    least = running_minimum(rank[order], groups, count)
    before = np.append(count, least[:-1])[:count]
    before[np.append(True, groups[1:] != groups[:-1])[:count]] = count
    found = np.empty(count, np.int64)
    found[order] = np.append(by_first, -1)[before]
    return found


def _opportunities(clusters: _Clusters, order: Ints, cut: Ints, is_write: Bools, invoked: Ints) -> int:
    ends = _per_name(np.minimum, np.where(clusters.version == 0, INF, clusters.end), clusters.group)
    earliest = np.repeat(ends[clusters.group], np.diff(np.append(cut, len(order)))) if len(cut) else np.zeros(0)
    return int(np.count_nonzero(~is_write[order] & (invoked[order] > earliest)))
