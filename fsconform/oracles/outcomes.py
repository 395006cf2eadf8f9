"""errno columns sorted by what they say about the operation (the table of `vocabulary.errnos`, vectorised)."""

from __future__ import annotations

import errno
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from fsconform.vocabulary.errnos import Outcome, classify
from fsconform.vocabulary.histories import Ints

Bools = npt.NDArray[np.bool_]


class Told(IntEnum):
    """What a call was told, as an array code."""

    DONE = 0
    EEXIST = 1
    """Something is there."""
    ENOENT = 2
    """Nothing is there."""
    NOT_EMPTY = 3
    REFUSED = 4
    """No effect, no information."""
    OPEN = 5
    """May take effect at any time after it was invoked, or never."""
    ABSENT = 6
    """Never begun."""


_LOWEST, _HIGHEST = -8, 4096
_OBSERVED = {errno.EEXIST: Told.EEXIST, errno.ENOENT: Told.ENOENT, errno.ENOTEMPTY: Told.NOT_EMPTY}
_CLASSES = {
    Outcome.DONE: Told.DONE,
    Outcome.REFUSED: Told.REFUSED,
    Outcome.OPEN: Told.OPEN,
    Outcome.ABSENT: Told.ABSENT,
}


def _code(number: int) -> int:
    outcome = classify(number)
    return int(_OBSERVED[number] if outcome is Outcome.OBSERVATION else _CLASSES[outcome])


_TABLE = np.array([_code(number) for number in range(_LOWEST, _HIGHEST)], dtype=np.int64)


def told(errnos: Ints) -> Ints:
    """`Told` codes of errno numbers, any shape. Numbers outside [-8, 4095] are refusals without information."""
    inside = (errnos >= _LOWEST) & (errnos < _HIGHEST)
    if inside.all():
        return _TABLE[errnos - _LOWEST]
    return np.where(inside, _TABLE[np.where(inside, errnos - _LOWEST, 0)], np.int64(Told.REFUSED))


def first_rounds(mask: Bools, limit: int = 64) -> tuple[int, ...]:
    """The first `limit` indices at which a mask over rounds is set."""
    return tuple(int(index) for index in np.flatnonzero(mask)[:limit])
