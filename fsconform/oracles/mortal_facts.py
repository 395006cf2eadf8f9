"""Names that some step removes, gathered: what every call says about the life of its name, and how stale it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsconform.oracles.lifetimes import LifeKind, judge_lifetimes
from fsconform.oracles.listing import Change, Duty, listing_duty
from fsconform.oracles.mentions import EXCLUSIVE_ROLES, Mention, Role
from fsconform.oracles.outcomes import Told, told
from fsconform.oracles.translation import Plan
from fsconform.vocabulary.histories import INF, Ints, RoundHistory

_CHANGES = {
    LifeKind.CREATE: Change.CREATE, LifeKind.ENSURE: Change.CREATE, LifeKind.REPLACE: Change.REPLACE,
    LifeKind.MAYBE_CREATE: Change.MAYBE_CREATE, LifeKind.UNLINK: Change.UNLINK,
    LifeKind.MAYBE_UNLINK: Change.MAYBE_UNLINK,
}  # fmt: skip
BIRTHS = (LifeKind.CREATE, LifeKind.REPLACE, LifeKind.ENSURE)


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
class MortalFacts:
    """(R, D) arrays over the mentions of names that die."""

    plan: Plan
    mentions: tuple[Mention, ...]
    name: Ints
    kind: Ints
    invoked: Ints
    returned: Ints
    codes: Ints
    staleness: Ints


def gather_mortals(plan: Plan, history: RoundHistory) -> MortalFacts:
    """The facts of a (widened) history; `plan.dying` must not be empty."""
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
    return MortalFacts(plan, plan.dying, name, kind, invoked, returned, codes, staleness)


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
