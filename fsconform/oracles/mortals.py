"""Names that some step of a program removes: staleness of every look, and whether any order explains the round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.frontier import sweep
from fsconform.oracles.lifetimes import LifeKind, judge_lifetimes
from fsconform.oracles.listing import Change, Duty, listing_duty
from fsconform.oracles.mentions import EXCLUSIVE_ROLES, Mention, Role
from fsconform.oracles.objects import LIFE_LOOKS, life
from fsconform.oracles.operations import Op
from fsconform.oracles.outcomes import Bools, Told, told
from fsconform.oracles.translation import Plan
from fsconform.vocabulary.histories import INF, Ints, RoundHistory

CAP = 2_000
"""Configurations per round and name: a program is judged thousands of times, a wide round is undecided instead."""
_CHANGES = {
    LifeKind.CREATE: Change.CREATE, LifeKind.ENSURE: Change.CREATE, LifeKind.REPLACE: Change.REPLACE,
    LifeKind.MAYBE_CREATE: Change.MAYBE_CREATE, LifeKind.UNLINK: Change.UNLINK,
    LifeKind.MAYBE_UNLINK: Change.MAYBE_UNLINK,
}  # fmt: skip
_BIRTHS = (LifeKind.CREATE, LifeKind.REPLACE, LifeKind.ENSURE)


def _kinds() -> Ints:
    table = np.full((len(Role), len(Told)), LifeKind.NONE, np.int64)
    for role in EXCLUSIVE_ROLES:
        table[role, Told.DONE] = LifeKind.CREATE
        table[role, Told.EEXIST] = LifeKind.PRESENT
        table[role, Told.OPEN] = LifeKind.MAYBE_CREATE
    # A retransmitted rename is told ENOENT although it took effect (RFC 1813 section 4.5).
    table[Role.EXCLUSIVE_MOVE, Told.ENOENT] = LifeKind.MAYBE_CREATE
    table[Role.MOVE, Told.DONE] = table[Role.MOVE, Told.OPEN] = table[Role.MOVE, Told.ENOENT] = LifeKind.REPLACE
    table[Role.CREATE, Told.DONE] = LifeKind.ENSURE
    table[Role.CREATE, Told.OPEN] = table[Role.CREATE, Told.EEXIST] = LifeKind.MAYBE_CREATE
    table[Role.LOOK, Told.DONE], table[Role.LOOK, Told.ENOENT] = LifeKind.PRESENT, LifeKind.ABSENT
    table[Role.REMOVE, Told.DONE], table[Role.REMOVE, Told.ENOENT] = LifeKind.UNLINK, LifeKind.ABSENT
    table[Role.REMOVE, Told.NOT_EMPTY], table[Role.REMOVE, Told.OPEN] = LifeKind.PRESENT, LifeKind.MAYBE_UNLINK
    return table


_KINDS = _kinds()


@dataclass(frozen=True, slots=True)
class MortalReport:
    """What was found about the names that die; masks over R rounds."""

    anomalies: tuple[Anomaly, ...]
    contested: Bools
    """A change of a name and another worker's call on it truly overlapped."""
    undecided: Bools
    inversions: Bools
    """No order explains the round, but no look was stale beyond a return."""
    opportunities: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Facts:
    """(R, D) arrays over the mentions of names that die."""

    plan: Plan
    mentions: tuple[Mention, ...]
    name: Ints
    kind: Ints
    invoked: Ints
    returned: Ints
    codes: Ints
    staleness: Ints


def examine_mortals(plan: Plan, history: RoundHistory) -> MortalReport:
    """Judges the names of a (widened) history that some step removes; `plan.dying` must not be empty."""
    facts = _gather(plan, history)
    accused = (facts.staleness > 0) & (facts.kind != LifeKind.NONE)
    undecided, inversions = np.zeros(history.rounds, np.bool_), np.zeros(history.rounds, np.bool_)
    impossible: dict[tuple[int, str], list[int]] = defaultdict(list)
    for name in sorted(set(facts.name.tolist())):
        mine = np.flatnonzero(facts.name == name)
        for number in range(history.rounds):
            found = sweep(_operations(facts, mine, number), life, 0, LIFE_LOOKS, CAP)
            undecided[number] |= found.undecided
            if found.violation is None:
                continue
            changes = _operations(facts, mine, number, changes_only=True)
            broken = sweep(changes, life, 0, LIFE_LOOKS, CAP).violation
            if broken is not None:
                impossible[name, broken.kind].append(number)
            elif not accused[number, mine].any():
                inversions[number] = True
    return MortalReport(
        (*_stale(facts, accused), *_impossible(facts, impossible)), _contested(facts), undecided, inversions,
        _opportunities(facts),
    )  # fmt: skip


def _gather(plan: Plan, history: RoundHistory) -> _Facts:
    columns = np.array([mention.column for mention in plan.dying], np.int64)
    roles = np.array([int(mention.role) for mention in plan.dying], np.int64)
    name = np.array([mention.name for mention in plan.dying], np.int64)
    invoked, returned, errno, value = (
        np.concatenate([getattr(lane, field) for lane in history.lanes], axis=1)[:, columns]
        for field in ("invoked", "returned", "errno", "value")
    )
    codes = told(errno)
    kind = _KINDS[roles, codes]
    moved = np.array([mention.kind in ("rename", "rename_noreplace") for mention in plan.dying], np.bool_)
    kind = np.where(moved & (roles == Role.REMOVE) & (codes == Told.ENOENT), LifeKind.MAYBE_UNLINK, kind)
    maybe = (kind == LifeKind.MAYBE_CREATE) | (kind == LifeKind.MAYBE_UNLINK) | (kind == LifeKind.REPLACE)
    returned = np.where(maybe & (codes != Told.DONE), INF, returned)
    for index, mention in enumerate(plan.dying):
        if mention.role is Role.LISTING:
            kind[:, index] = _listed(kind, name, index, mention, value[:, index], codes[:, index], invoked, returned)
    rounds = np.arange(history.rounds, dtype=np.int64)[:, None] * (int(name.max()) + 1)
    identity = np.broadcast_to(np.arange(1, len(name) + 1), kind.shape)
    staleness = judge_lifetimes(
        (rounds + name).ravel(), kind.ravel(), identity.ravel(), invoked.ravel(), returned.ravel()
    ).staleness.reshape(kind.shape)
    return _Facts(plan, plan.dying, name, kind, invoked, returned, codes, staleness)


def _listed(
    kind: Ints, name: Ints, index: int, mention: Mention, value: Ints, codes: Ints, invoked: Ints, returned: Ints
) -> Ints:
    """(R,) what a listing that broke its duty says: PRESENT, ABSENT; NONE where it kept it."""
    mine = np.flatnonzero(name == name[index])
    change = np.full((len(kind), len(mine)), Change.NONE, np.int64)
    for life_kind, what in _CHANGES.items():
        change[kind[:, mine] == life_kind] = what
    duty = listing_duty(invoked[:, index], returned[:, index], change, invoked[:, mine], returned[:, mine])
    seen = (value >> mention.bit) & 1 == 1
    done = codes == Told.DONE
    said = np.where(done & seen & (duty == Duty.MUST_NOT), LifeKind.PRESENT, LifeKind.NONE)
    return np.asarray(np.where(done & ~seen & (duty == Duty.MUST), LifeKind.ABSENT, said), np.int64)


def _operations(facts: _Facts, mine: Ints, number: int, changes_only: bool = False) -> list[Op]:
    """One name of one round for the frontier; listings are no single moment, they are judged by duty alone."""
    ops = []
    for index in mine.tolist():
        kind = LifeKind(int(facts.kind[number, index]))
        look = kind in (LifeKind.PRESENT, LifeKind.ABSENT)
        if kind is LifeKind.NONE or facts.mentions[index].role is Role.LISTING or (look and changes_only):
            continue
        start, end = int(facts.invoked[number, index]), int(facts.returned[number, index])
        ops.append(Op(kind.name.lower(), start, end, index + 1))
    return ops


class _Group(NamedTuple):
    kind: str
    property_id: str
    name: int
    observer: str
    state: str
    publish: str
    acting: str
    observing: str


def _stale(facts: _Facts, accused: Bools) -> Iterator[Anomaly]:
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


def _group(facts: _Facts, number: int, index: int, acting: Mention | None) -> _Group:
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


def _cause(facts: _Facts, number: int, index: int) -> int | None:
    """The change whose return made a look false."""
    since = facts.invoked[number, index] - facts.staleness[number, index]
    made = _BIRTHS if facts.kind[number, index] == LifeKind.ABSENT else (LifeKind.UNLINK,)
    for other in np.flatnonzero(facts.name == facts.name[index]).tolist():
        if facts.kind[number, other] in made and facts.returned[number, other] == since:
            return int(other)
    return None


def _before(facts: _Facts, number: int, index: int) -> Iterator[int]:
    """What the same site had begun on the same name before a look ended."""
    mention = facts.mentions[index]
    for other, earlier in enumerate(facts.mentions):
        same = other != index and earlier.name == mention.name and earlier.site == mention.site
        began = facts.codes[number, other] != Told.ABSENT
        if same and began and (earlier.repeated or facts.invoked[number, other] <= facts.returned[number, index]):
            yield other


def _knew(facts: _Facts, number: int, index: int) -> bool:
    """Whether caches of the site of a look may hold the name."""
    found = (Told.DONE, Told.EEXIST, Told.NOT_EMPTY)
    return facts.mentions[index].repeated or any(
        facts.codes[number, other] in found or facts.mentions[other].repeated for other in _before(facts, number, index)
    )


def _missed(facts: _Facts, number: int, index: int) -> bool:
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


def _impossible(facts: _Facts, found: Mapping[tuple[int, str], list[int]]) -> Iterator[Anomaly]:
    for (name, kind), rounds in found.items():
        word = facts.plan.program.names[name]
        made = kind == "create"
        steps = tuple(
            (mention.lane, mention.step) for index, mention in enumerate(facts.mentions)
            if mention.name == name and facts.kind[rounds[0], index] in (*_BIRTHS, LifeKind.UNLINK)
        )  # fmt: skip
        yield Anomaly(
            "two-winners" if made else "removed-twice", "exclusive.winner" if made else "visibility.unlink",
            tuple(rounds), word, steps,
            f"expected creates and removals of {word} to alternate, got successes that no order explains",
        )  # fmt: skip


def _contested(facts: _Facts) -> Bools:
    pairs = [
        (i, j) for i, a in enumerate(facts.mentions) for j, b in enumerate(facts.mentions)
        if a.name == b.name and a.lane != b.lane and a.role not in (Role.LOOK, Role.LISTING)
    ]  # fmt: skip
    a, b = (np.array(side, np.int64) for side in zip(*pairs, strict=True)) if pairs else (np.zeros(0, np.int64),) * 2
    ran, start, end = facts.codes != Told.ABSENT, facts.invoked, facts.returned
    met = (start[:, a] <= end[:, b]) & (start[:, b] <= end[:, a]) & ran[:, a] & ran[:, b]
    return np.asarray(met.any(axis=1), np.bool_)


def _opportunities(facts: _Facts) -> dict[str, int]:
    names = facts.name[None, :]
    ended = {kinds: np.zeros(facts.kind.shape, np.bool_) for kinds in ("born", "gone")}
    for name in set(facts.name.tolist()):
        mine = names[0] == name
        for word, kinds in (("born", _BIRTHS), ("gone", (LifeKind.UNLINK,))):
            chosen = np.isin(facts.kind[:, mine], kinds)
            first = np.where(chosen, facts.returned[:, mine], INF).min(axis=1)
            ended[word][:, mine] = facts.invoked[:, mine] > first[:, None]
    roles = np.array([int(mention.role) for mention in facts.mentions], np.int64)
    ran = facts.codes != Told.ABSENT
    looks = ran & ((roles == Role.LOOK) | (roles == Role.LISTING))
    counts = {
        "visibility.create": looks & ended["born"],
        "visibility.unlink": looks & ended["gone"],
        "exclusive.stale-eexist": ran & (roles <= Role.EXCLUSIVE_MOVE) & ended["gone"],
    }
    return {name: int(np.count_nonzero(mask)) for name, mask in counts.items() if mask.any()}
