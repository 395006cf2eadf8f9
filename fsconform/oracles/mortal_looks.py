"""Looks at names that die which were surely false when they began: since when, and what excuses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.lifetimes import LifeKind
from fsconform.oracles.mentions import EXCLUSIVE_ROLES, Mention, Role
from fsconform.oracles.mortal_facts import BIRTHS, MortalFacts
from fsconform.oracles.outcomes import Bools, Told
from fsconform.vocabulary.histories import INF


class _Group(NamedTuple):
    kind: str
    property_id: str
    name: int
    observer: str
    state: str
    publish: str
    acting: str
    observing: str


def stale_looks(facts: MortalFacts, accused: Bools) -> Iterator[Anomaly]:
    """One anomaly per kind, name, observer, reader state and direction; `accused` has the shape of the facts."""
    groups: dict[_Group, dict[int, tuple[int, tuple[tuple[int, int], ...]]]] = defaultdict(dict)
    for number, index in np.argwhere(accused).tolist():
        mention, stale = facts.mentions[index], int(facts.staleness[number, index])
        cause = _cause(facts, number, index)
        acting = facts.mentions[cause] if cause is not None else None
        group = _group(facts, number, index, acting)
        steps = tuple((each.lane, each.step) for each in (acting, mention) if each is not None)
        groups[group][number] = max(groups[group].get(number, (0, ())), (stale, steps))
    for group, by_round in groups.items():
        rounds = tuple(sorted(by_round))
        staleness = tuple(by_round[number][0] for number in rounds)
        word = facts.plan.program.names[group.name]
        yield Anomaly(
            group.kind, group.property_id, rounds, word, by_round[rounds[0]][1],
            _STORIES[group.kind].format(name=word, observer=group.observer or "a call", ms=max(staleness) / 1e6),
            () if group.kind.startswith("phantom") else staleness,
            group.observer, group.state, group.publish, group.acting, group.observing,
        )  # fmt: skip


_STORIES = {
    "stale": "expected {name} to be seen by {observer} after a new birth, got a miss that began {ms:.3f} ms later",
    "ghost": "expected {name} to be gone for {observer} after its removal, got it {ms:.3f} ms later",
    "stale-eexist": "expected the removed {name} to be free, got EEXIST {ms:.3f} ms after its removal",
    "phantom": "expected ENOENT for {name} before anybody began to create it, got a sighting",
    "phantom-eexist": "expected {name} to be free before anybody began to create it, got EEXIST",
}


def _group(facts: MortalFacts, number: int, index: int, acting: Mention | None) -> _Group:
    mention = facts.mentions[index]
    exclusive = mention.role in EXCLUSIVE_ROLES
    knew = _knew(facts, number, index)
    if facts.kind[number, index] == LifeKind.ABSENT:
        kind, property_id, state = "stale", "visibility.create", "missed"
        if not _missed(facts, number, index):
            state = "cold"
    elif facts.staleness[number, index] >= INF:
        kind, property_id, state = "phantom", "visibility.create", ""
        if exclusive:
            kind, property_id = "phantom-eexist", "exclusive.stale-eexist"
    elif exclusive:
        kind, property_id, state = "stale-eexist", "exclusive.stale-eexist", "ghost" if knew else "cold"
    else:
        kind, property_id, state = "ghost", "visibility.unlink", "known" if knew else "cold"
    born = acting is not None and kind == "stale"
    publish = mention.kind if exclusive else acting.kind if born and acting else ""
    site = acting.site if acting else ""
    return _Group(kind, property_id, mention.name, mention.observer, state, publish, site, mention.site)


def _cause(facts: MortalFacts, number: int, index: int) -> int | None:
    """The change whose return made a look false."""
    since = facts.invoked[number, index] - facts.staleness[number, index]
    made = BIRTHS if facts.kind[number, index] == LifeKind.ABSENT else (LifeKind.UNLINK,)
    for other in np.flatnonzero(facts.name == facts.name[index]).tolist():
        if facts.kind[number, other] in made and facts.returned[number, other] == since:
            return int(other)
    return None


def _before(facts: MortalFacts, number: int, index: int) -> Iterator[int]:
    """What the same site had begun on the same name before a look ended."""
    mention = facts.mentions[index]
    for other, earlier in enumerate(facts.mentions):
        same = other != index and earlier.name == mention.name and earlier.site == mention.site
        began = facts.codes[number, other] != Told.ABSENT
        if same and began and (earlier.repeated or facts.invoked[number, other] <= facts.returned[number, index]):
            yield other


def _knew(facts: MortalFacts, number: int, index: int) -> bool:
    """Whether caches of the site of a look may hold the name."""
    found = (Told.DONE, Told.EEXIST, Told.NOT_EMPTY)
    return facts.mentions[index].repeated or any(
        facts.codes[number, other] in found or facts.mentions[other].repeated for other in _before(facts, number, index)
    )


def _missed(facts: MortalFacts, number: int, index: int) -> bool:
    """Whether caches of the site of a look may hold a miss: a removal leaves one behind, and so does what looks up a
    name that it is making just now."""
    start = facts.invoked[number, index]
    return facts.mentions[index].repeated or any(
        facts.codes[number, other] != Told.DONE
        or facts.mentions[other].role in (Role.REMOVE, Role.LISTING)
        or facts.mentions[other].repeated
        or (facts.mentions[other].role <= Role.MOVE and facts.returned[number, other] >= start)
        for other in _before(facts, number, index)
    )
