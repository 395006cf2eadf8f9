"""From suspicious evidence to anomalies: which rounds, what was expected, what was got.

Slow path: called only for histories that some array test could not explain, and free to look at rounds one by one.
"""

from __future__ import annotations

import errno as numbers
from collections.abc import Iterator

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.evidence import Evidence
from fsconform.oracles.mentions import EXCLUSIVE_ROLES, Role
from fsconform.oracles.misses import late_looks, replaced_during, seen_twice, single_look, word_of
from fsconform.oracles.once import OnceKind
from fsconform.oracles.outcomes import Bools
from fsconform.oracles.wrong_bytes import wrong_contents
from fsconform.vocabulary.errnos import name_of
from fsconform.vocabulary.histories import INF

REFUSALS = frozenset(
    {
        numbers.EINVAL, numbers.EOPNOTSUPP, numbers.ENOSYS, numbers.EPERM, numbers.EACCES, numbers.EROFS,
        numbers.ENOSPC, numbers.EDQUOT, numbers.ENAMETOOLONG, numbers.EMFILE, numbers.ENFILE, numbers.ENOMEM,
        numbers.EMLINK, numbers.EXDEV, numbers.EBADF,
    }
)  # fmt: skip
"""errno of a call that cannot be made here, which say nothing about who won."""
_SIGHTINGS = (OnceKind.WIN, OnceKind.LOSE, OnceKind.PUBLISH, OnceKind.PRESENT)
"""What proves that a name was there when it returned."""


def accuse(evidence: Evidence) -> tuple[Anomaly, ...]:
    """Every anomaly of the evidence, one per kind, name and (for looks) observer, reader state and direction."""
    found = [
        *_winners(evidence), *_told(evidence), *_loser_sees(evidence), *late_looks(evidence), *seen_twice(evidence),
        *wrong_contents(evidence),
    ]  # fmt: skip
    return tuple(found)


def _winners(evidence: Evidence) -> Iterator[Anomaly]:
    once = evidence.once
    seen = (evidence.kind == OnceKind.PRESENT).astype(np.int64)
    looked = np.maximum.reduceat(seen, evidence.plan.cut, axis=1) > 0
    over = evidence.of_names(once.win_over_existing)
    two = evidence.of_names(once.two_winners) & ~over
    gap = _won_in_gap(evidence, over | two)
    over, two = over & ~gap, two & ~gap
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
    yield from _named(evidence, gap, "won-in-gap", "atomic.presence", all_,
                      "expected {name} to be there for every call while it was replaced, got success for an exclusive "
                      "create of it")  # fmt: skip
    yield from _named(evidence, none & ~looked, "no-winner", "exclusive.winner", loses,
                      "expected one winner for the free name {name}, got EEXIST for all")  # fmt: skip
    yield from _named(evidence, none & looked, "success-told-as-failure", "exclusive.success-told", loses,
                      "expected the contender whose create of {name} took effect to be told so, got EEXIST for all, "
                      "and the name is there")  # fmt: skip
    yield from _named(evidence, phantom & by_eexist, "phantom-eexist", "exclusive.stale-eexist", all_,
                      "expected {name} to be free before anybody began to create it, got EEXIST")  # fmt: skip
    yield from _named(evidence, phantom & ~by_eexist, "phantom", "visibility.create", all_,
                      "expected ENOENT for {name} before anybody began to create it, got a sighting")  # fmt: skip


def _won_in_gap(evidence: Evidence, suspects: Bools) -> Bools:
    """Where every winner too many may have met a moment in which a rename over the name had taken it away.

    Then not the exclusive create is at fault, which found the name free, but the replacement.
    """
    gap = np.zeros_like(suspects)
    for number, name in zip(*np.nonzero(suspects), strict=True):
        mentions = [index for index, mention in enumerate(evidence.plan.mentions) if mention.name == name]
        winners = [index for index in mentions if evidence.kind[number, index] == OnceKind.WIN]
        others = [index for index in winners if not replaced_during(evidence, index, int(number))]
        known = [int(evidence.returned[number, index]) for index in mentions if index not in others
                 and evidence.kind[number, index] in _SIGHTINGS]  # fmt: skip
        born = min((int(evidence.invoked[number, index]) for index in others), default=0)
        gap[number, name] = len(others) < min(len(winners), 2) and (not others or min(known, default=INF) >= born)
    return gap


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
        errno, word = evidence.errno[:, index], word_of(evidence, mention)
        if mention.role is Role.CREATE:
            mask = errno == numbers.EEXIST
            if mask.any():
                yield single_look(evidence, index, mask, "spurious-eexist", "exclusive.plain-create",
                              f"expected open(O_CREAT) of {word} to succeed, got EEXIST")  # fmt: skip
        elif mention.role in EXCLUSIVE_ROLES:
            wrong = _wrongly_told(evidence, index)
            if wrong.any():
                got = name_of(int(errno[np.flatnonzero(wrong)[0]]))
                yield single_look(evidence, index, wrong, "loser-errno", "exclusive.loser-errno",
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
    """Told EEXIST, and then the same worker cannot open the name: where it is replaced just then, that is a gap."""
    for made, look in zip(*evidence.plan.after_eexist, strict=True):
        mask = (evidence.kind[:, made] == OnceKind.LOSE) & (evidence.kind[:, look] == OnceKind.ABSENT)
        gap = np.zeros_like(mask)
        for number in np.flatnonzero(mask).tolist():
            gap[number] = replaced_during(evidence, int(look), number)
        yield from _unseen(evidence, int(made), int(look), mask & ~gap, "eexist-then-enoent", "exclusive.loser-sees")
        yield from _unseen(evidence, int(made), int(look), mask & gap, "eexist-then-gap", "atomic.presence")


def _unseen(evidence: Evidence, made: int, look: int, mask: Bools, kind: str, property_id: str) -> Iterator[Anomaly]:
    rounds = np.flatnonzero(mask)
    if not len(rounds):
        return
    delay = np.maximum(1, evidence.invoked[rounds, look] - evidence.returned[rounds, made])
    a, b = evidence.plan.mentions[made], evidence.plan.mentions[look]
    word = word_of(evidence, a)
    yield Anomaly(
        kind, property_id, tuple(rounds.tolist()), word, ((a.lane, a.step), (b.lane, b.step)),
        f"expected {word} to be openable by a worker that was told EEXIST, got ENOENT",
        tuple(delay.tolist()), b.observer, "", a.kind, "", b.site,
    )  # fmt: skip
