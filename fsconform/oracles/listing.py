"""Listings: what one listing must, must not, or may contain.

POSIX.1-2024 readdir(): an entry that was there all the time from opendir() or rewinddir() to the end of the directory
is returned exactly once, one that was not there at all never; an entry added or removed meanwhile is unspecified, so
any count (twice included) is legal for it. A name that is replaced meanwhile may move within the directory: it is
unspecified too, unless the filesystem is known to keep it in place.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from fsconform.oracles.outcomes import Bools
from fsconform.vocabulary.histories import Ints


class Change(IntEnum):
    """What a mutation does to one name of a directory."""

    CREATE = 0
    REPLACE = 1
    """Rename over the name; returned = INF where its outcome is open."""
    MAYBE_CREATE = 2
    UNLINK = 3
    MAYBE_UNLINK = 4
    NONE = 5


class Duty(IntEnum):
    """What a listing owes to one name."""

    MAY = 0
    MUST = 1
    MUST_NOT = 2


def listing_duty(
    start: Ints, end: Ints, change: Ints, invoked: Ints, returned: Ints, replace_stable: bool = False
) -> Ints:
    """`Duty` of R listings to one name each; shapes (R,), (R,), then (R, m) for the m mutations of that name.

    `start`: ns at which opendir or the last rewinddir was invoked; `end`: at which the end of the directory was
    returned. `replace_stable`: a replaced entry keeps its place (a promise of the profile).
    """
    start, end = start[:, None], end[:, None]
    creates, replaces = change == Change.CREATE, change == Change.REPLACE
    removes = (change == Change.UNLINK) | (change == Change.MAYBE_UNLINK)
    began = (creates | replaces | (change == Change.MAYBE_CREATE)) & (invoked <= end)
    over = (change == Change.UNLINK) & (returned < start)
    # Axis 1: the birth, axis 2: the removal it is held against.
    spared = ~removes[:, None, :] | (returned[:, None, :] < invoked[:, :, None]) | (invoked > end)[:, None, :]
    killed = over[:, None, :] & (returned[:, :, None] < invoked[:, None, :])
    stays: Bools = ((creates | replaces) & (returned < start) & spared.all(axis=2)).any(axis=1)
    possible: Bools = (began & ~killed.any(axis=2)).any(axis=1)
    moved = np.zeros(len(change), np.bool_)
    if not replace_stable:
        moved = (replaces & (returned >= start) & (invoked <= end)).any(axis=1)
    duty = np.where(stays, Duty.MUST, np.where(possible, Duty.MAY, Duty.MUST_NOT))
    return np.where(moved, Duty.MAY, duty).astype(np.int64)
