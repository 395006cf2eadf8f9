"""Names that some step of a program removes: staleness of every look, and whether any order explains the round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from fsconform.oracles.anomalies import Anomaly
from fsconform.oracles.frontier import sweep
from fsconform.oracles.lifetimes import LifeKind
from fsconform.oracles.mentions import Role
from fsconform.oracles.mortal_facts import BIRTHS, MortalFacts, gather_mortals
from fsconform.oracles.mortal_looks import stale_looks
from fsconform.oracles.objects import LIFE_LOOKS, life
from fsconform.oracles.operations import Op
from fsconform.oracles.outcomes import Bools, Told
from fsconform.oracles.translation import Plan
from fsconform.vocabulary.histories import INF, Ints, RoundHistory

CAP = 2_000
"""Configurations per round and name: a program is judged thousands of times, a wide round is undecided instead."""


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


def examine_mortals(plan: Plan, history: RoundHistory) -> MortalReport:
    """Judges the names of a (widened) history that some step removes; `plan.dying` must not be empty."""
    facts = gather_mortals(plan, history)
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
        (*stale_looks(facts, accused), *_impossible(facts, impossible)), _contested(facts), undecided, inversions,
        _opportunities(facts),
    )  # fmt: skip


def _operations(facts: MortalFacts, mine: Ints, number: int, changes_only: bool = False) -> list[Op]:
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


def _impossible(facts: MortalFacts, found: Mapping[tuple[int, str], list[int]]) -> Iterator[Anomaly]:
    for (name, kind), rounds in found.items():
        made = kind == "create"
        in_gap = [number for number in rounds if made and _created_in_gap(facts, name, number)]
        told = (
            ("won-in-gap", "atomic.presence", in_gap,
             "expected {} to be there for every call while it was replaced, got success for an exclusive create"),
            ("two-winners" if made else "removed-twice", "exclusive.winner" if made else "visibility.unlink",
             [number for number in rounds if number not in in_gap],
             "expected creates and removals of {} to alternate, got successes that no order explains"),
        )  # fmt: skip
        word = facts.plan.program.names[name]
        for word_of_kind, property_id, guilty, story in told:
            if guilty:
                steps = _changes(facts, name, guilty[0])
                yield Anomaly(word_of_kind, property_id, tuple(guilty), word, steps, story.format(word))


def _changes(facts: MortalFacts, name: int, number: int) -> tuple[tuple[int, int], ...]:
    """What made or removed a name in one round."""
    return tuple(
        (mention.lane, mention.step) for index, mention in enumerate(facts.mentions)
        if mention.name == name and facts.kind[number, index] in (*BIRTHS, LifeKind.UNLINK)
    )  # fmt: skip


def _created_in_gap(facts: MortalFacts, name: int, number: int) -> bool:
    """Whether an exclusive create succeeded while a rename over the name was in flight."""
    mine = [index for index, mention in enumerate(facts.mentions) if mention.name == name]
    made = [index for index in mine if facts.kind[number, index] == LifeKind.CREATE]
    moves = [index for index in mine if facts.mentions[index].role is Role.MOVE
             and facts.kind[number, index] not in (LifeKind.NONE, LifeKind.ABSENT, LifeKind.PRESENT)]  # fmt: skip
    return any(
        facts.invoked[number, move] <= facts.returned[number, create]
        and facts.returned[number, move] >= facts.invoked[number, create]
        for create in made for move in moves if move != create
    )  # fmt: skip


def _contested(facts: MortalFacts) -> Bools:
    pairs = [
        (i, j) for i, a in enumerate(facts.mentions) for j, b in enumerate(facts.mentions)
        if a.name == b.name and a.lane != b.lane and a.role not in (Role.LOOK, Role.LISTING)
    ]  # fmt: skip
    a, b = (np.array(side, np.int64) for side in zip(*pairs, strict=True)) if pairs else (np.zeros(0, np.int64),) * 2
    ran, start, end = facts.codes != Told.ABSENT, facts.invoked, facts.returned
    met = (start[:, a] <= end[:, b]) & (start[:, b] <= end[:, a]) & ran[:, a] & ran[:, b]
    return np.asarray(met.any(axis=1), np.bool_)


def _opportunities(facts: MortalFacts) -> dict[str, int]:
    names = facts.name[None, :]
    ended = {kinds: np.zeros(facts.kind.shape, np.bool_) for kinds in ("born", "gone")}
    for name in set(facts.name.tolist()):
        mine = names[0] == name
        for word, kinds in (("born", BIRTHS), ("gone", (LifeKind.UNLINK,))):
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
