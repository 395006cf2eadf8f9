"""Replaceable names of a program: which reads gave a version that had surely been replaced when they began."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.evidence import Evidence
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Bools, Told
from fsconform.oracles.replaceable import judge_versions
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.histories import INF, Ints

_EFFECTIVE = (OnceKind.WIN, OnceKind.PUBLISH, OnceKind.MAYBE)


@dataclass(frozen=True, slots=True)
class VersionFindings:
    """Of one examination; the mask is over R rounds."""

    anomalies: tuple[Anomaly, ...]
    inversions: Bools
    """The name is not linearizable although no read was stale: new-old inversion while a publish was in flight."""
    opportunities: int


@dataclass(frozen=True, slots=True)
class _Reads:
    """One name: (R, k) arrays over its makers, then its reads."""

    name: int
    makers: tuple[int, ...]
    made: Ints
    """Version of each maker."""
    reads: tuple[int, ...]
    staleness: Ints
    """(R, reads) ns; INF: a version that nobody had begun to write; 0 where nothing was read."""
    delta: Ints
    """(R,)."""


def examine_versions(evidence: Evidence) -> VersionFindings:
    """Judges the names whose versions only ever appear whole (rename of a closed file)."""
    plan = evidence.plan
    inversions = np.zeros(evidence.shape[0], np.bool_)
    anomalies: list[Anomaly] = []
    opportunities = 0
    for name, versioned in enumerate(plan.versioned):
        if versioned and plan.contents[name] and all(maker.sealed_by == -1 for maker in plan.creators[name]):
            judged, chances = _judge(evidence, name)
            opportunities += chances
            inversions |= (judged.delta > 0) & ~(judged.staleness > 0).any(axis=1)
            anomalies += _accuse(evidence, judged)
    return VersionFindings(tuple(anomalies), inversions, opportunities)


def _judge(evidence: Evidence, name: int) -> tuple[_Reads, int]:
    makers = tuple(maker.mention for maker in evidence.plan.creators[name])
    made = np.array([maker.version for maker in evidence.plan.creators[name]], np.int64)
    reads = evidence.plan.contents[name]
    columns = [*makers, *reads]
    kind = evidence.kind[:, columns]
    is_write = np.arange(len(columns)) < len(makers)
    value = evidence.value[:, columns]
    read = (evidence.codes[:, columns] == Told.DONE) & (value & 0xFF == Content.EXACT)
    use = np.where(is_write, np.isin(kind, _EFFECTIVE), read)
    version = np.where(is_write, np.append(made, np.zeros(len(reads), np.int64)), value >> 8)
    returned = np.where(is_write & (kind == OnceKind.MAYBE), INF, evidence.returned[:, columns])
    rounds = np.broadcast_to(np.arange(len(kind))[:, None], kind.shape)
    writes = np.broadcast_to(is_write, kind.shape)
    report = judge_versions(
        rounds[use], version[use], writes[use], evidence.invoked[:, columns][use], returned[use]
    )  # fmt: skip
    staleness, delta = np.zeros(kind.shape, np.int64), np.zeros(len(kind), np.int64)
    staleness[use], delta[report.names] = report.staleness, report.delta
    return _Reads(name, makers, made, reads, staleness[:, len(makers) :], delta), report.opportunities


def _accuse(evidence: Evidence, judged: _Reads) -> Iterator[Anomaly]:
    word = evidence.plan.names[judged.name]
    for place, index in enumerate(judged.reads):
        mention = evidence.plan.mentions[index]
        groups: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
        for number in np.flatnonzero(judged.staleness[:, place] > 0).tolist():
            groups[_group(evidence, judged, number, place)].append(number)
        for (kind, state, publish, acting), rounds in groups.items():
            staleness = tuple(judged.staleness[rounds, place].tolist())
            future = kind == "future-version"
            makers = [evidence.plan.mentions[maker] for maker in judged.makers]
            yield Anomaly(
                kind, "atomic.content" if future else "visibility.replace", tuple(rounds), word,
                (*((maker.lane, maker.step) for maker in makers), (mention.lane, mention.step)),
                f"expected a version of {word} that somebody had begun to write, got another one" if future else
                f"expected the new version of {word} after its {publish} had returned, got an older one in a read that "
                f"began {max(staleness) / 1e6:.3f} ms later",
                () if future else staleness, mention.observer, state, publish, acting, mention.site,
            )  # fmt: skip


def _group(evidence: Evidence, judged: _Reads, number: int, place: int) -> tuple[str, str, str, str]:
    """(kind, reader state, publish, acting site) of one stale read."""
    index = judged.reads[place]
    if judged.staleness[number, place] >= INF:
        return "future-version", "", "", ""
    since = evidence.invoked[number, index] - judged.staleness[number, place]
    maker = next(
        maker for maker in judged.makers
        if evidence.returned[number, maker] == since and evidence.kind[number, maker] in _EFFECTIVE
    )  # fmt: skip
    made = evidence.plan.mentions[maker]
    known = evidence.known_before(number, index)
    return "stale-version", "known" if known else "cold", made.kind, made.site
