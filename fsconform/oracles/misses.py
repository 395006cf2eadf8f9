"""Looks that missed a published name, and listings that broke their duty: the slow path of an examination."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.evidence import SEEN_TWICE, Evidence
from fsconform.oracles.listing import Change, Duty, listing_duty
from fsconform.oracles.mentions import EXCLUSIVE_ROLES, Mention, Role
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Bools, Told
from fsconform.vocabulary.histories import INF, Ints

_CHANGES = {
    OnceKind.WIN: Change.CREATE, OnceKind.PUBLISH: Change.REPLACE, OnceKind.MAYBE: Change.REPLACE,
}  # fmt: skip


class _Missed(NamedTuple):
    """What misses of one kind have in common."""

    name: int
    gap: bool
    observer: str
    state: str
    publish: str
    acting: str
    observing: str


_Worst = tuple[int, tuple[tuple[int, int], ...]]
"""ns of staleness, and the steps that show it."""


def late_looks(evidence: Evidence) -> Iterator[Anomaly]:
    """Looks that missed a name whose publish had returned before they began."""
    groups: dict[_Missed, dict[int, _Worst]] = defaultdict(dict)
    for index, mention in enumerate(evidence.plan.mentions):
        stale = _missed_by(evidence, index)
        for number in np.flatnonzero(stale > 0).tolist():
            made = evidence.plan.mentions[_publisher(evidence, mention.name, number)]
            gap = _is_gap(evidence, index, number)
            state = "" if gap else _state(evidence, index, number)
            group = groups[_Missed(mention.name, gap, mention.observer, state, made.kind, made.site, mention.site)]
            steps = ((made.lane, made.step), (mention.lane, mention.step))
            group[number] = max(group.get(number, (0, ())), (int(stale[number]), steps))
    for missed, by_round in groups.items():
        yield _missed_anomaly(evidence.plan.names[missed.name], missed, by_round)


def _missed_anomaly(word: str, missed: _Missed, by_round: dict[int, _Worst]) -> Anomaly:
    rounds = tuple(sorted(by_round))
    staleness = tuple(by_round[number][0] for number in rounds)
    if missed.gap:
        kind, property_id = "gap", "atomic.presence"
        story = f"expected {word} to be there for every look while it was replaced, got ENOENT ({missed.observer})"
    else:
        kind, property_id = "stale", "visibility.create"
        story = (
            f"expected {word} to be seen by {missed.observer} after {missed.publish} had returned, "
            f"got a miss that began {max(staleness) / 1e6:.3f} ms later"
        )
    return Anomaly(
        kind, property_id, rounds, word, by_round[rounds[0]][1], story, () if missed.gap else staleness,
        missed.observer, missed.state, missed.publish, missed.acting, missed.observing,
    )  # fmt: skip


def _missed_by(evidence: Evidence, index: int) -> Ints:
    """(R,) ns by which the misses of one mention are surely stale; 0 where they are not."""
    mention = evidence.plan.mentions[index]
    since = evidence.invoked[:, index] - evidence.known[:, mention.name]
    if mention.role is Role.LOOK:
        return np.where(evidence.kind[:, index] == OnceKind.ABSENT, np.maximum(0, since), 0)
    if mention.role is not Role.LISTING:
        return np.zeros(len(since), np.int64)
    missed = (evidence.codes[:, index] == Told.DONE) & (evidence.kind[:, index] == OnceKind.NONE) & (since > 0)
    if missed.any():
        missed &= _duty(evidence, index) == Duty.MUST
    return np.where(missed, since, 0)


def _duty(evidence: Evidence, index: int) -> Ints:
    """(R,) what one listing owes to its name."""
    mention = evidence.plan.mentions[index]
    makers = [creator.mention for creator in evidence.plan.creators[mention.name]]
    kind = evidence.kind[:, makers]
    change = np.full(kind.shape, Change.NONE, np.int64)
    for once, what in _CHANGES.items():
        change[kind == once] = what
    exclusive = np.array([evidence.plan.mentions[maker].role in EXCLUSIVE_ROLES for maker in makers], np.bool_)
    change[(kind == OnceKind.MAYBE) & exclusive] = Change.MAYBE_CREATE
    returned = np.where(kind == OnceKind.MAYBE, INF, evidence.returned[:, makers])
    return listing_duty(
        evidence.invoked[:, index], evidence.returned[:, index], change, evidence.invoked[:, makers], returned
    )


def seen_twice(evidence: Evidence) -> Iterator[Anomaly]:
    """Listings that returned an entry twice that was there all the time."""
    for index, bit in zip(evidence.plan.listings.tolist(), evidence.plan.bits.tolist(), strict=True):
        twice = (evidence.codes[:, index] == Told.DONE) & ((evidence.value[:, index] >> (SEEN_TWICE + bit)) & 1 == 1)
        if twice.any():
            twice &= _duty(evidence, index) == Duty.MUST
        if twice.any():
            word = word_of(evidence, evidence.plan.mentions[index])
            yield single_look(evidence, index, twice, "duplicate", "visibility.create",
                          f"expected {word} once in a listing, got it twice")  # fmt: skip


def _publisher(evidence: Evidence, name: int, number: int) -> int:
    """The mention whose return proves the name published in one round."""
    known = evidence.known[number, name]
    return next(
        creator.mention
        for creator in evidence.plan.creators[name]
        if evidence.kind[number, creator.mention] in (OnceKind.WIN, OnceKind.PUBLISH)
        and evidence.returned[number, creator.mention] == known
    )


def _state(evidence: Evidence, index: int, number: int) -> str:
    """`missed` where caches of the same site may hold a miss: it had begun, before this look ended, anything on the
    name that did not find or make it, or that is making it just now (a create or rename looks its target up first)."""
    mention, start = evidence.plan.mentions[index], evidence.invoked[number, index]
    if mention.repeated:
        return "missed"
    for other in evidence.before(number, index):
        earlier = evidence.plan.mentions[other]
        failed = evidence.codes[number, other] != Told.DONE
        if earlier.role is Role.LISTING:
            failed = not failed and evidence.kind[number, other] == OnceKind.NONE
        making = earlier.role <= Role.MOVE and evidence.returned[number, other] >= start
        if failed or making or earlier.repeated:
            return "missed"
    return "cold"


def _is_gap(evidence: Evidence, index: int, number: int) -> bool:
    """Whether a rename over the name was in flight during a miss that no cached miss of this site can explain."""
    mention = evidence.plan.mentions[index]
    if mention.role is not Role.LOOK or not replaced_during(evidence, index, number):
        return False
    start = int(evidence.invoked[number, index])
    return _state(evidence, index, number) == "cold" or _had_seen(evidence, mention, number, start)


def replaced_during(evidence: Evidence, index: int, number: int) -> bool:
    """Whether a rename over its name was in flight during a mention."""
    start, end = evidence.invoked[number, index], evidence.returned[number, index]
    return any(
        evidence.plan.mentions[creator.mention].role is Role.MOVE
        and evidence.kind[number, creator.mention] in (OnceKind.PUBLISH, OnceKind.MAYBE)
        and evidence.invoked[number, creator.mention] <= end
        and (evidence.returned[number, creator.mention] >= start
             or evidence.kind[number, creator.mention] == OnceKind.MAYBE)
        for creator in evidence.plan.creators[evidence.plan.mentions[index].name]
    )  # fmt: skip


def _had_seen(evidence: Evidence, mention: Mention, number: int, start: int) -> bool:
    """Whether a path look of the same site had found the name before `start`."""
    return any(
        earlier.role is Role.LOOK and earlier.name == mention.name and earlier.site == mention.site
        and evidence.kind[number, other] == OnceKind.PRESENT and evidence.returned[number, other] < start
        for other, earlier in enumerate(evidence.plan.mentions)
    )  # fmt: skip


def single_look(evidence: Evidence, index: int, mask: Bools, kind: str, property_id: str, story: str) -> Anomaly:
    """An anomaly of one step, in the rounds of a mask."""
    mention = evidence.plan.mentions[index]
    return Anomaly(
        kind, property_id, tuple(np.flatnonzero(mask).tolist()), word_of(evidence, mention),
        ((mention.lane, mention.step),), story, observer=mention.observer, observing=mention.site,
    )  # fmt: skip


def word_of(evidence: Evidence, mention: Mention) -> str:
    """The name that a mention is about."""
    return evidence.plan.names[mention.name]
