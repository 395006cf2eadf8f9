"""Examining a history: the create-once, exclusive, content and listing oracles over all rounds and names of a program.

The innocent pass is a few dozen array operations; only what cannot be explained is looked at round by round
(`accusations`).
"""

from __future__ import annotations

import errno as numbers
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fsconform.oracles.accusations import accuse
from fsconform.oracles.anomalies import Anomaly, Examination
from fsconform.oracles.evidence import SEEN_TWICE, Evidence, gather
from fsconform.oracles.mentions import Role
from fsconform.oracles.mortals import examine_mortals
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Bools, Told
from fsconform.oracles.translation import Plan, translate
from fsconform.oracles.versions import examine_versions
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.histories import INF, RoundHistory


def examine(history: RoundHistory) -> Examination:
    """Examines R rounds of one program; stamps must have been widened by the clock error (`RoundHistory.widened`).

    A name whose bytes the program does not show is judged for presence only; one that some step removes is judged
    for presence by its own oracles (`mortals`); names that are exchanged are not judged and make rounds undecided.
    """
    plan = translate(history.program)
    parts = []
    if history.rounds and plan.mentions:
        parts.append(_immortals(gather(plan, history)))
    if history.rounds and plan.dying:
        parts.append(_mortals(plan, history))
    undecided = np.full(history.rounds, bool(plan.opaque))
    inversions = np.zeros(history.rounds, np.bool_)
    contested = np.zeros(history.rounds, np.bool_)
    opportunities: Counter[str] = Counter()
    for part in parts:
        undecided |= part.undecided
        inversions |= part.inversions
        contested |= part.contested
        opportunities.update(part.opportunities)
    return Examination(
        anomalies=tuple(anomaly for part in parts for anomaly in part.anomalies),
        contested=int(np.count_nonzero(contested)),
        opportunities=dict(opportunities),
        undecided=int(np.count_nonzero(undecided)),
        inversions=int(np.count_nonzero(inversions)),
    )


class _Part(NamedTuple):
    """What one group of oracles has to say; masks over R rounds."""

    anomalies: tuple[Anomaly, ...]
    contested: Bools
    undecided: Bools
    inversions: Bools
    opportunities: Mapping[str, int]


def _immortals(evidence: Evidence) -> _Part:
    once, met = evidence.once, _met(evidence)
    anomalies = accuse(evidence) if _suspicious(evidence) else ()
    inversions = np.asarray(evidence.of_names(once.late & (once.stale == 0)).any(axis=1), np.bool_)
    opportunities = _opportunities(evidence, met)
    if any(evidence.plan.versioned):
        versions = examine_versions(evidence)
        anomalies += versions.anomalies
        inversions |= versions.inversions
        opportunities["visibility.replace"] = versions.opportunities
    return _Part(anomalies, np.asarray(met.any(axis=1)), _undecided(evidence), inversions, opportunities)


def _mortals(plan: Plan, history: RoundHistory) -> _Part:
    report = examine_mortals(plan, history)
    return _Part(report.anomalies, report.contested, report.undecided, report.inversions, report.opportunities)


def _suspicious(evidence: Evidence) -> bool:
    """Whether anything may have to be accused (never false where something has)."""
    once, plan, codes = evidence.once, evidence.plan, evidence.codes
    if (once.delta >= INF).any() or once.stale.any():
        return True
    answers = evidence.errno[:, plan.makers]
    if ((answers > 0) & ((answers != numbers.EEXIST) | (plan.role[plan.makers] == Role.CREATE))).any():
        return True
    made, look = plan.after_eexist
    if ((codes[:, made] == Told.EEXIST) & (codes[:, look] == Told.ENOENT)).any():
        return True
    if len(plan.listings) and _listing_suspicious(evidence):
        return True
    wrong = (codes[:, plan.reads] == Told.DONE) & (evidence.value[:, plan.reads] & 0xFF != Content.EXACT)
    return bool((wrong & _ripe(evidence)).any())


def _listing_suspicious(evidence: Evidence) -> bool:
    plan = evidence.plan
    done = evidence.codes[:, plan.listings] == Told.DONE
    late = evidence.invoked[:, plan.listings] > evidence.known[:, plan.name[plan.listings]]
    missed = evidence.kind[:, plan.listings] == OnceKind.NONE
    twice = evidence.value[:, plan.listings] >> SEEN_TWICE != 0
    return bool((done & (twice | (missed & late))).any())


def _ripe(evidence: Evidence) -> Bools:
    """(R, reads) whether the bytes had to be complete when the read began."""
    reads = evidence.plan.reads
    return np.asarray(evidence.invoked[:, reads] > evidence.complete[:, evidence.plan.name[reads]], np.bool_)


def _met(evidence: Evidence) -> Bools:
    """(R, meetings) whether the two calls of a meeting truly overlapped (touching counts)."""
    a, b = evidence.plan.meetings
    ran = evidence.codes != Told.ABSENT
    start, end = evidence.invoked, evidence.returned
    met = (start[:, a] <= end[:, b]) & (start[:, b] <= end[:, a]) & ran[:, a] & ran[:, b]
    return np.asarray(met, np.bool_)


def _undecided(evidence: Evidence) -> Bools:
    """(R,) whether some name has losers, no winner, but somebody who may be it; or is not judged at all."""
    maybe = np.maximum.reduceat((evidence.kind == OnceKind.MAYBE).astype(np.int64), evidence.plan.cut, axis=1)
    if not maybe.any():
        return np.zeros(evidence.shape[0], np.bool_)
    lose = np.maximum.reduceat((evidence.kind == OnceKind.LOSE).astype(np.int64), evidence.plan.cut, axis=1)
    open_ = (maybe > 0) & (lose > 0) & (evidence.of_names(evidence.once.wins) == 0)
    return np.asarray(open_.any(axis=1), np.bool_)


def _opportunities(evidence: Evidence, met: Bools) -> dict[str, int]:
    """Property -> how often it could have been found broken."""
    plan, kind = evidence.plan, evidence.kind
    ran = evidence.codes != Told.ABSENT
    looked = ran & (plan.role >= Role.LOOK) & (evidence.codes <= Told.ENOENT)
    after = evidence.invoked > evidence.known[:, plan.name]
    exclusive = ran & (plan.role <= Role.EXCLUSIVE_MOVE)
    existed = evidence.invoked > evidence.of_names(evidence.once.present)[:, plan.name]
    won = evidence.of_names(evidence.once.wins)[:, plan.name] > 0
    made, look = plan.after_eexist
    races = int(np.count_nonzero((met & plan.races).any(axis=1)))
    counts = {
        "visibility.create": looked & after,
        "exclusive.loser-errno": exclusive & won & (kind != OnceKind.WIN),
        "exclusive.over-existing": exclusive & existed,
        "exclusive.plain-create": ran & existed & (plan.role == Role.CREATE),
        "exclusive.loser-sees": (kind[:, made] == OnceKind.LOSE) & looked[:, look],
        "atomic.presence": met & plan.swaps & after[:, plan.meetings[1]],
    }
    found = {name: int(np.count_nonzero(mask)) for name, mask in counts.items()}
    found["exclusive.winner"] = found["exclusive.success-told"] = races
    judged = (evidence.codes[:, plan.reads] == Told.DONE) & _ripe(evidence)
    found["atomic.content"] = int(np.count_nonzero(judged & plan.replaced[plan.name[plan.reads]]))
    found["content.complete"] = int(np.count_nonzero(judged)) - found["atomic.content"]
    return {name: count for name, count in found.items() if count}
