"""Examining a history: the create-once, exclusive, content and listing oracles over all rounds and names of a program.

The innocent pass is a few dozen array operations; only what cannot be explained is looked at round by round
(`accusations`).
"""

from __future__ import annotations

import errno as numbers

import numpy as np

from fsconform.oracles.accusations import accuse
from fsconform.oracles.anomalies import Examination
from fsconform.oracles.evidence import SEEN_TWICE, Evidence, gather
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Bools, Told
from fsconform.oracles.translation import Role, translate
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.histories import INF, RoundHistory


def examine(history: RoundHistory) -> Examination:
    """Examines R rounds of one program; stamps must have been widened by the clock error (`RoundHistory.widened`).

    Names that some step removes are not judged (their rounds count as undecided); a name whose bytes the program does
    not show is judged for presence only.
    """
    plan = translate(history.program)
    if not plan.mentions or not history.rounds:
        return Examination((), 0, {}, history.rounds if plan.mortal else 0)
    evidence = gather(plan, history)
    once, met = evidence.once, _met(evidence)
    inversion = evidence.of_names(once.late & (once.stale == 0)).any(axis=1)
    return Examination(
        anomalies=accuse(evidence) if _suspicious(evidence) else (),
        contested=int(np.count_nonzero(met.any(axis=1))),
        opportunities=_opportunities(evidence, met),
        undecided=int(np.count_nonzero(_undecided(evidence))),
        inversions=int(np.count_nonzero(inversion)),
    )


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
    """(R,) whether some name has losers, no winner, and somebody who may be it; or is not judged at all."""
    if evidence.plan.mortal:
        return np.ones(evidence.shape[0], np.bool_)
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
