"""Rounds of one exclusive create by k contenders: how many won, what the losers were told, whether they met at all.

Exactly one contender of a free name wins (POSIX.1-2024 open() O_EXCL, link(), mkdir(); renameat2(2) NOREPLACE). Only
rounds whose calls overlapped are informative: a race that did not happen cannot be lost.
"""

from __future__ import annotations

import errno as numbers
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fsconform.oracles.outcomes import Bools, Told, told
from fsconform.vocabulary.histories import INF, Ints


@dataclass(frozen=True, slots=True)
class ExclusiveReport:
    """Masks and counts over R rounds; arrays have the shape (R,)."""

    contested: Bools
    """The calls of at least two contenders overlapped (touching counts as overlap)."""
    all_overlap: Bools
    """There was a moment at which the calls of all contenders were in flight."""
    winners: Ints
    two_winners: Bools
    no_winner: Bools
    """Nobody won a free name, and somebody was told EEXIST before anybody began whose outcome is open."""
    undecided: Bools
    """Nobody is known to have won, and somebody's outcome is open (EIO, HUNG, LOST, ...): no statement."""
    win_over_existing: Bools
    """A contender won although the name surely existed before its call began."""
    losers: Ints
    """Contenders that lost a round with a winner."""
    wrong_errno: Bools
    """A loser of a round with a winner was told something else than EEXIST by a call that did answer."""
    loser_errnos: Mapping[int, int]
    """errno -> number of losers that were told so, over all rounds with a winner."""


def judge_exclusive(invoked: Ints, returned: Ints, errno: Ints, exists_from: Ints | None = None) -> ExclusiveReport:
    """Judges rounds; arrays of shape (R, k), ns and errno of each contender's exclusive-create call.

    `exists_from`, shape (R,): the earliest return (ns) of a publish or sighting of the name by somebody who is no
    contender; INF (the default) where the name was free. NOT_RUN contenders do not count.
    """
    codes = told(errno)
    ran, won = codes != Told.ABSENT, codes == Told.DONE
    exists = np.full(len(errno), INF, np.int64) if exists_from is None else exists_from
    winners = np.count_nonzero(won, axis=1).astype(np.int64)
    told_so = np.where(codes == Told.EEXIST, returned, INF).min(axis=1, initial=INF)
    # Only what began before somebody was told EEXIST can have made the name that was there.
    may_have_won = ((codes == Told.OPEN) & (invoked <= told_so[:, None])).any(axis=1)
    nobody = (winners == 0) & ~may_have_won & (codes == Told.EEXIST).any(axis=1) & (exists >= INF)
    decided = (winners > 0)[:, None]
    lost = decided & ran & ~won
    answered = lost & (errno > 0)
    values, counts = np.unique(errno[answered], return_counts=True)
    return ExclusiveReport(
        contested=overlapping(invoked, returned, ran),
        all_overlap=all_overlapping(invoked, returned, ran),
        winners=winners,
        two_winners=winners > 1,
        no_winner=nobody,
        undecided=(winners == 0) & (codes == Told.OPEN).any(axis=1) & ~nobody,
        win_over_existing=(won & (invoked > exists[:, None])).any(axis=1),
        losers=np.count_nonzero(lost, axis=1).astype(np.int64),
        wrong_errno=(answered & (errno != numbers.EEXIST)).any(axis=1),
        loser_errnos={int(value): int(count) for value, count in zip(values, counts, strict=True)},
    )


def overlapping(invoked: Ints, returned: Ints, ran: Bools) -> Bools:
    """Per round whether at least two of the calls that ran overlapped; shapes (R, k) -> (R,)."""
    start = np.where(ran, invoked, INF + 1)
    order = np.argsort(start, axis=1)
    start = np.take_along_axis(start, order, axis=1)
    end = np.take_along_axis(returned, order, axis=1)
    # Sorted by start, the first two intervals of any overlapping pair are neighbours of an overlapping pair too.
    met = (start[:, 1:] <= end[:, :-1]) & (start[:, 1:] <= INF)
    return np.asarray(met.any(axis=1), np.bool_)


def all_overlapping(invoked: Ints, returned: Ints, ran: Bools) -> Bools:
    """Per round whether all calls that ran (two at least) were in flight at one moment; shapes (R, k) -> (R,)."""
    latest = np.where(ran, invoked, -INF).max(axis=1, initial=-INF)
    earliest = np.where(ran, returned, INF).min(axis=1, initial=INF)
    return np.asarray((np.count_nonzero(ran, axis=1) >= 2) & (latest <= earliest), np.bool_)
