"""Answers that may belong to a request that was sent twice.

A server that has lost its record of the first request performs the second one anew, and finds what the first one did:
a `link` that made its name is told EEXIST, an `unlink` that removed it ENOENT (RFC 1813 section 4.5; link(2) and
rename(2) BUGS). The caller cannot tell. So where a profile says that this can happen, such an answer is neither a
failure nor a look: the call may have taken effect.
"""

from __future__ import annotations

import errno
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from fsconform.vocabulary.errnos import DOUBTED
from fsconform.vocabulary.histories import LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane

DOUBTFUL = (errno.EEXIST, errno.ENOENT)


def doubt(history: RoundHistory, calls: Collection[str]) -> RoundHistory:
    """The history in which no doubtful answer to one of these calls (step kinds) is believed."""
    if not calls:
        return history
    lanes = tuple(
        _doubt_lane(lane, columns, calls) for lane, columns in zip(history.program.lanes, history.lanes, strict=True)
    )
    return replace(history, lanes=lanes)


def _doubt_lane(lane: Lane, columns: LaneColumns, calls: Collection[str]) -> LaneColumns:
    affected = np.array([step.kind in calls for step in lane.steps], np.bool_)
    doubtful = np.isin(columns.errno, DOUBTFUL) & affected
    return replace(columns, errno=np.where(doubtful, DOUBTED, columns.errno)) if doubtful.any() else columns
