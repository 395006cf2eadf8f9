"""A history gathered by what it says about each name: the array form that verdicts and accusations are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from fsconform.oracles.mentions import Role
from fsconform.oracles.once import OnceKind, OnceReport, judge_grouped
from fsconform.oracles.outcomes import Bools, Told, told
from fsconform.oracles.translation import Creator, Plan
from fsconform.vocabulary.histories import INF, Ints, RoundHistory

Scalar = TypeVar("Scalar", np.int64, np.bool_)
SEEN_TWICE = 32
"""In a listing's value, bit `32 + i` says that the entry of bit i was returned twice."""


def _kinds() -> Ints:
    table = np.full((len(Role), len(Told)), OnceKind.NONE, np.int64)
    for role in (Role.EXCLUSIVE, Role.EXCLUSIVE_MOVE):
        table[role, Told.DONE] = OnceKind.WIN
        table[role, Told.EEXIST] = OnceKind.LOSE
        table[role, Told.OPEN] = OnceKind.MAYBE
    for role in (Role.CREATE, Role.MOVE):
        table[role, Told.DONE] = OnceKind.PUBLISH
        table[role, Told.OPEN] = OnceKind.MAYBE
    # A retransmitted rename finds its source gone and is told ENOENT although it took effect (RFC 1813 section 4.5).
    table[Role.EXCLUSIVE_MOVE, Told.ENOENT] = table[Role.MOVE, Told.ENOENT] = OnceKind.MAYBE
    # A plain O_CREAT has no business to say EEXIST: a finding of its own, which must not make others.
    table[Role.CREATE, Told.EEXIST] = OnceKind.MAYBE
    table[Role.LOOK, Told.DONE] = OnceKind.PRESENT
    table[Role.LOOK, Told.ENOENT] = OnceKind.ABSENT
    return table


_KINDS = _kinds()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Arrays over R rounds, P mentions (`Plan.mentions`) and N names (`Plan.names`)."""

    plan: Plan
    invoked: Ints
    """(R, P) ns, as the next four."""
    returned: Ints
    errno: Ints
    value: Ints
    codes: Ints
    """`Told`."""
    kind: Ints
    """`OnceKind`. A listing that misses a name says NONE here: what it owes is a matter of its duty."""
    once: OnceReport
    """Of all names of all rounds: entry r * N + n."""
    known: Ints
    """(R, N) earliest return of a successful create; INF where none."""
    complete: Ints
    """(R, N) ns from which on the bytes are complete; -INF where they are whenever the name is there, INF where that
    is not known."""

    @property
    def shape(self) -> tuple[int, int]:
        """(R, N)."""
        return self.known.shape[0], self.known.shape[1]

    def of_names(self, flat: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """A flat array of `once` as (R, N)."""
        return flat.reshape(self.shape)

    def before(self, number: int, index: int) -> Iterator[int]:
        """Mentions of the same name by the same site that had begun in a round before one of them ended."""
        mention, end = self.plan.mentions[index], self.returned[number, index]
        for other, earlier in enumerate(self.plan.mentions):
            same = other != index and earlier.name == mention.name and earlier.site == mention.site
            # The stamps of a watch are those of its last look: it is not told when it began.
            began = self.codes[number, other] != Told.ABSENT
            if same and began and (earlier.repeated or self.invoked[number, other] <= end):
                yield other

    def known_before(self, number: int, index: int) -> bool:
        """Whether caches of the site of a look may hold what the name was before."""
        found = (Told.DONE, Told.EEXIST)
        return self.plan.mentions[index].repeated or any(
            self.codes[number, other] in found or self.plan.mentions[other].repeated
            for other in self.before(number, index)
        )


def gather(plan: Plan, history: RoundHistory) -> Evidence:
    """The evidence of a (widened) history; `plan` must mention at least one name."""
    rounds, number = history.rounds, len(plan.mentions)
    lanes = history.lanes
    all_returned, all_errno = (np.concatenate([lane.returned for lane in lanes], axis=1),
                               np.concatenate([lane.errno for lane in lanes], axis=1))  # fmt: skip
    all_value = np.concatenate([lane.value for lane in lanes], axis=1)
    all_codes = told(all_errno)
    invoked = np.concatenate([lane.invoked for lane in lanes], axis=1)[:, plan.column]
    returned, codes, value = all_returned[:, plan.column], all_codes[:, plan.column], all_value[:, plan.column]
    kind = _KINDS[plan.role, codes]
    if len(plan.listings):
        listed = (codes[:, plan.listings] == Told.DONE) & ((value[:, plan.listings] >> plan.bits) & 1 == 1)
        kind[:, plan.listings] = np.where(listed, OnceKind.PRESENT, OnceKind.NONE)
    names = len(plan.names)
    cut = (np.arange(rounds, dtype=np.int64)[:, None] * number + plan.cut).ravel()
    once = judge_grouped(np.arange(rounds * names), cut, kind.ravel(), invoked.ravel(), returned.ravel())
    full = (all_errno == 0) & ((plan.need < 0) | (all_value == plan.need))
    return Evidence(
        plan=plan, invoked=invoked, returned=returned, errno=all_errno[:, plan.column], value=value, codes=codes,
        kind=kind, once=once, known=once.known.reshape(rounds, names),
        complete=_complete(plan, kind, full, all_returned),
    )  # fmt: skip


def _complete(plan: Plan, kind: Ints, full: Bools, returned: Ints) -> Ints:
    complete = np.full((len(kind), len(plan.names)), -INF, np.int64)
    for name, creators in enumerate(plan.creators):
        if plan.contents[name]:
            for creator in creators:
                np.maximum(complete[:, name], _sealed(creator, kind, full, returned), out=complete[:, name])
    return complete


def _sealed(creator: Creator, kind: Ints, full: Bools, returned: Ints) -> Ints:
    """(R,) ns from which on the bytes of one creator are complete; -INF where it has no effect."""
    effective = kind[:, creator.mention]
    effective = (effective == OnceKind.WIN) | (effective == OnceKind.PUBLISH) | (effective == OnceKind.MAYBE)
    if creator.sealed_by == -2:
        return np.where(effective, INF, -INF)
    made = full[:, list(creator.needs)].all(axis=1)
    if creator.sealed_by == -1:
        return np.where(effective & ~made, INF, -INF)
    sealed = np.where(made & full[:, creator.sealed_by], returned[:, creator.sealed_by], INF)
    return np.where(effective, sealed, -INF)
