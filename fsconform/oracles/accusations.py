"""From suspicious evidence to anomalies: which rounds, what was expected, what was got.

Slow path: called only for histories that some array test could not explain, and free to look at rounds one by one.
"""

from __future__ import annotations

import errno as numbers
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
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.histories import INF, Ints

_CHANGES = {
    OnceKind.WIN: Change.CREATE, OnceKind.PUBLISH: Change.REPLACE, OnceKind.MAYBE: Change.REPLACE,
}  # fmt: skip
REFUSALS = frozenset(
    {
        numbers.EINVAL, numbers.EOPNOTSUPP, numbers.ENOSYS, numbers.EPERM, numbers.EACCES, numbers.EROFS,
        numbers.ENOSPC, numbers.EDQUOT, numbers.ENAMETOOLONG, numbers.EMFILE, numbers.ENFILE, numbers.ENOMEM,
        numbers.EMLINK, numbers.EXDEV, numbers.EBADF,
    }
)  # fmt: skip
"""errno of a call that cannot be made here, which say nothing about who won."""


def accuse(evidence: Evidence) -> tuple[Anomaly, ...]:
    """Every anomaly of the evidence, one per kind, name and (for looks) observer, reader state and direction."""
    found = [
        *_winners(evidence), *_told(evidence), *_loser_sees(evidence), *_late(evidence), *_twice(evidence),
        *_contents(evidence),
    ]  # fmt: skip
    return tuple(found)


# ---------------------------------------------------------------- who won, and what the others were told


def _winners(evidence: Evidence) -> Iterator[Anomaly]:
    once = evidence.once
    seen = (evidence.kind == OnceKind.PRESENT).astype(np.int64)
    looked = np.maximum.reduceat(seen, evidence.plan.cut, axis=1) > 0
    over = evidence.of_names(once.win_over_existing)
    two = evidence.of_names(once.two_winners) & ~over
    none = evidence.of_names(once.no_winner)
    phantom = evidence.of_names(once.phantom) & ~two & ~none
    told_so = (evidence.kind == OnceKind.LOSE).astype(np.int64)
    eexist = np.minimum.reduceat(np.where(told_so > 0, evidence.returned, INF), evidence.plan.cut, axis=1)
    by_eexist = eexist == evidence.of_names(once.present)
    wins, loses, all_ = (OnceKind.WIN,), (OnceKind.LOSE, OnceKind.PRESENT), tuple(OnceKind)
    yield from _named(evidence, two, "two-winners", "exclusive.winner", wins,
                      "expected one exclusive create of {name} to succeed, got {wins}")  # fmt: skip
    yield from _named(evidence, over, "win-over-existing", "exclusive.over-existing", all_,
                      "expected EEXIST for an exclusive create of the existing {name}, got success")  # fmt: skip
    yield from _named(evidence, none & ~looked, "no-winner", "exclusive.winner", loses,
                      "expected one winner for the free name {name}, got EEXIST for all")  # fmt: skip
    yield from _named(evidence, none & looked, "success-told-as-failure", "exclusive.success-told", loses,
                      "expected the contender whose create of {name} took effect to be told so, got EEXIST for all, "
                      "and the name is there")  # fmt: skip
    yield from _named(evidence, phantom & by_eexist, "phantom-eexist", "exclusive.stale-eexist", all_,
                      "expected {name} to be free before anybody began to create it, got EEXIST")  # fmt: skip
    yield from _named(evidence, phantom & ~by_eexist, "phantom", "visibility.create", all_,
                      "expected ENOENT for {name} before anybody began to create it, got a sighting")  # fmt: skip


def _named(
    evidence: Evidence, mask: Bools, kind: str, property_id: str, kinds: tuple[OnceKind, ...], story: str
) -> Iterator[Anomaly]:
    for name in np.flatnonzero(mask.any(axis=0)).tolist():
        rounds = np.flatnonzero(mask[:, name])
        first = int(rounds[0])
        steps = tuple(
            (mention.lane, mention.step)
            for index, mention in enumerate(evidence.plan.mentions)
            if mention.name == name and evidence.kind[first, index] in kinds
            and evidence.kind[first, index] != OnceKind.NONE
        )  # fmt: skip
        word = evidence.plan.names[name]
        wins = int(evidence.of_names(evidence.once.wins)[first, name])
        yield Anomaly(kind, property_id, tuple(rounds.tolist()), word, steps, story.format(name=word, wins=wins))


def _told(evidence: Evidence) -> Iterator[Anomaly]:
    """Losers told something else than EEXIST, and plain creates told EEXIST."""
    for index, mention in enumerate(evidence.plan.mentions):
        errno, word = evidence.errno[:, index], _word(evidence, mention)
        if mention.role is Role.CREATE:
            mask = errno == numbers.EEXIST
            if mask.any():
                yield _single(evidence, index, mask, "spurious-eexist", "exclusive.plain-create",
                              f"expected open(O_CREAT) of {word} to succeed, got EEXIST")  # fmt: skip
        elif mention.role in EXCLUSIVE_ROLES:
            wrong = _wrongly_told(evidence, index)
            if wrong.any():
                got = name_of(int(errno[np.flatnonzero(wrong)[0]]))
                yield _single(evidence, index, wrong, "loser-errno", "exclusive.loser-errno",
                              f"expected EEXIST for the loser of {mention.kind}({word}), got {got}")  # fmt: skip


def _wrongly_told(evidence: Evidence, index: int) -> Bools:
    """(R,) rounds in which an exclusive call lost to one of its own kind, answered, and did not say EEXIST."""
    mention, errno = evidence.plan.mentions[index], evidence.errno[:, index]
    answered = (errno > 0) & (errno != numbers.EEXIST) & (errno != numbers.EINTR) & ~np.isin(errno, list(REFUSALS))
    answered &= errno != numbers.ENOENT  # the source or the directory is missing: another matter
    rivals = [
        other
        for other, rival in enumerate(evidence.plan.mentions)
        if rival.name == mention.name and rival.kind == mention.kind and other != index
    ]
    if not rivals:
        return np.zeros(len(errno), np.bool_)
    return np.asarray(answered & (evidence.kind[:, rivals] == OnceKind.WIN).any(axis=1), np.bool_)


def _loser_sees(evidence: Evidence) -> Iterator[Anomaly]:
    """Told EEXIST, and then the same worker cannot open the name."""
    for made, look in zip(*evidence.plan.after_eexist, strict=True):
        mask = (evidence.kind[:, made] == OnceKind.LOSE) & (evidence.kind[:, look] == OnceKind.ABSENT)
        if not mask.any():
            continue
        rounds = np.flatnonzero(mask)
        delay = np.maximum(1, evidence.invoked[rounds, look] - evidence.returned[rounds, made])
        a, b = evidence.plan.mentions[int(made)], evidence.plan.mentions[int(look)]
        word = _word(evidence, a)
        yield Anomaly(
            "eexist-then-enoent", "exclusive.loser-sees", tuple(rounds.tolist()), word,
            ((a.lane, a.step), (b.lane, b.step)),
            f"expected {word} to be openable by a worker that was told EEXIST, got ENOENT",
            tuple(delay.tolist()), b.observer, "", a.kind, "", b.site,
        )  # fmt: skip


# ---------------------------------------------------------------- looks that missed


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


def _late(evidence: Evidence) -> Iterator[Anomaly]:
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


def _twice(evidence: Evidence) -> Iterator[Anomaly]:
    """Listings that returned an entry twice that was there all the time."""
    for index, bit in zip(evidence.plan.listings.tolist(), evidence.plan.bits.tolist(), strict=True):
        twice = (evidence.codes[:, index] == Told.DONE) & ((evidence.value[:, index] >> (SEEN_TWICE + bit)) & 1 == 1)
        if twice.any():
            twice &= _duty(evidence, index) == Duty.MUST
        if twice.any():
            word = _word(evidence, evidence.plan.mentions[index])
            yield _single(evidence, index, twice, "duplicate", "visibility.create",
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
    """`missed` where the same site had begun, before this look ended, anything on the name that did not find or make
    it (its caches may hold the miss, a failed create looks the name up first), else `cold`."""
    mention, end = evidence.plan.mentions[index], evidence.returned[number, index]
    if mention.repeated:
        return "missed"
    for other, earlier in enumerate(evidence.plan.mentions):
        if other == index or earlier.name != mention.name or earlier.site != mention.site:
            continue
        if earlier.repeated and evidence.codes[number, other] != Told.ABSENT:
            return "missed"  # it is not told when a watch began to look
        failed = evidence.codes[number, other] not in (Told.DONE, Told.ABSENT)
        if earlier.role is Role.LISTING:
            failed = evidence.codes[number, other] == Told.DONE and evidence.kind[number, other] == OnceKind.NONE
        if failed and evidence.invoked[number, other] <= end:
            return "missed"
    return "cold"


def _is_gap(evidence: Evidence, index: int, number: int) -> bool:
    """Whether a rename over the name was in flight during a miss that no cached miss of this site can explain."""
    mention = evidence.plan.mentions[index]
    if mention.role is not Role.LOOK:
        return False
    start, end = evidence.invoked[number, index], evidence.returned[number, index]
    replaced = any(
        evidence.plan.mentions[creator.mention].role is Role.MOVE
        and evidence.kind[number, creator.mention] in (OnceKind.PUBLISH, OnceKind.MAYBE)
        and evidence.invoked[number, creator.mention] <= end
        and (evidence.returned[number, creator.mention] >= start
             or evidence.kind[number, creator.mention] == OnceKind.MAYBE)
        for creator in evidence.plan.creators[mention.name]
    )  # fmt: skip
    return replaced and (_state(evidence, index, number) == "cold" or _had_seen(evidence, mention, number, int(start)))


def _had_seen(evidence: Evidence, mention: Mention, number: int, start: int) -> bool:
    """Whether a path look of the same site had found the name before `start`."""
    return any(
        earlier.role is Role.LOOK and earlier.name == mention.name and earlier.site == mention.site
        and evidence.kind[number, other] == OnceKind.PRESENT and evidence.returned[number, other] < start
        for other, earlier in enumerate(evidence.plan.mentions)
    )  # fmt: skip


# ---------------------------------------------------------------- bytes that must not be seen


def _contents(evidence: Evidence) -> Iterator[Anomaly]:
    for name, indices in enumerate(evidence.plan.contents):
        for index in indices:
            bad = broken(evidence, index)
            for content in np.unique(evidence.value[bad, index] & 0xFF).tolist():
                yield from _broken_look(
                    evidence, name, index, bad & (evidence.value[:, index] & 0xFF == content), content
                )


def broken(evidence: Evidence, index: int) -> Bools:
    """(R,) rounds in which one content look returned bytes that it must not return."""
    read = evidence.codes[:, index] == Told.DONE
    ripe = evidence.invoked[:, index] > evidence.complete[:, evidence.plan.mentions[index].name]
    return np.asarray(read & ripe & (evidence.value[:, index] & 0xFF != Content.EXACT), np.bool_)


def _broken_look(evidence: Evidence, name: int, index: int, bad: Bools, content: int) -> Iterator[Anomaly]:
    """One class of wrong bytes seen by one look, split by what excuses it."""
    mention, plan = evidence.plan.mentions[index], evidence.plan
    word, got = plan.names[name], Content(min(content, Content.TORN)).name.lower()
    by_property: dict[str, list[int]] = defaultdict(list)
    for number in np.flatnonzero(bad).tolist():
        by_property[_broken_property(evidence, name, index, number, content)].append(number)
    for property_id, rounds in by_property.items():
        creators = [plan.mentions[creator.mention] for creator in plan.creators[name]]
        steps = (*((maker.lane, maker.step) for maker in creators), (mention.lane, mention.step))
        grown = property_id == "size.grow"
        delays = evidence.invoked[rounds, index] - evidence.complete[rounds, name]
        yield Anomaly(
            "stale-size" if grown else got, property_id, tuple(rounds), word, steps,
            f"expected all bytes of {word} from {mention.kind}, got {got} content",
            tuple(delays.tolist()) if grown else (), mention.observer, "known" if grown else "",
            creators[0].kind, creators[0].site, mention.site,
        )  # fmt: skip


def _broken_property(evidence: Evidence, name: int, index: int, number: int, content: int) -> str:
    plan, mention = evidence.plan, evidence.plan.mentions[index]
    in_place = evidence.complete[number, name] > -INF
    if in_place and content == Content.SHORT and _knew(evidence, mention, index, number):
        return "size.grow"
    for made, look in zip(*plan.after_eexist, strict=True):
        if look == index and evidence.kind[number, made] == OnceKind.LOSE and not in_place:
            return "exclusive.loser-sees"
    return "atomic.content" if plan.replaced[name] else "content.complete"


def _knew(evidence: Evidence, mention: Mention, index: int, number: int) -> bool:
    """Whether the same site may hold attributes of the file from before its close."""
    end = evidence.returned[number, index]
    return any(
        earlier.name == mention.name and earlier.site == mention.site and other != index
        and evidence.codes[number, other] in (Told.DONE, Told.EEXIST) and evidence.invoked[number, other] <= end
        for other, earlier in enumerate(evidence.plan.mentions)
    )  # fmt: skip


def _single(evidence: Evidence, index: int, mask: Bools, kind: str, property_id: str, story: str) -> Anomaly:
    mention = evidence.plan.mentions[index]
    return Anomaly(
        kind, property_id, tuple(np.flatnonzero(mask).tolist()), _word(evidence, mention),
        ((mention.lane, mention.step),), story, observer=mention.observer, observing=mention.site,
    )  # fmt: skip


def _word(evidence: Evidence, mention: Mention) -> str:
    return evidence.plan.names[mention.name]
