"""errno sorted by what it says about the operation that returned it.

A history is only as good as this table: calling an operation finished that may still take effect makes false
alarms, and calling a refusal an observation hides findings (rates measured in docs/oracles.md).
"""

from __future__ import annotations

import errno
from enum import Enum

OK = 0
HUNG = -1
"""Pseudo errno of a step that had not returned when its deadline passed."""
LOST = -2
"""Pseudo errno of a step whose worker was killed or went away before it was known to return."""
NOT_RUN = -3
"""Pseudo errno of a step that was never begun (an earlier step of the round could not be completed)."""
UNSUPPORTED_HERE = -4
"""Pseudo errno: this interpreter or C library has no such call at all; says nothing about the filesystem."""

DOUBTED = -5
"""Pseudo errno of a call that was told EEXIST or ENOENT, perhaps by its own first request (oracles/retransmissions)."""


class Outcome(Enum):
    """What an errno means in a history."""

    DONE = "done"
    """Took effect once within [invoked, returned]."""
    OBSERVATION = "observation"
    """A look with that result (EEXIST: something is there, ENOENT: nothing there); no mutation happened."""
    REFUSED = "refused"
    """No effect and no information: dropped."""
    OPEN = "open"
    """May take effect at any time after it was invoked, or never."""
    ABSENT = "absent"
    """Never begun."""


OPEN_ERRNOS = frozenset(
    {
        errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EINTR, errno.ENOTCONN, errno.EREMOTEIO,
        errno.ECONNRESET, errno.ECONNABORTED, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETDOWN,
        errno.ENETUNREACH, errno.ESHUTDOWN, HUNG, LOST, DOUBTED,
    }
)  # fmt: skip
OBSERVATION_ERRNOS = frozenset({errno.EEXIST, errno.ENOENT, errno.ENOTEMPTY})


def classify(number: int) -> Outcome:
    """The class of an errno (0 = success, negative = pseudo errno of this module)."""
    if number == OK:
        return Outcome.DONE
    if number in OPEN_ERRNOS:
        return Outcome.OPEN
    if number in OBSERVATION_ERRNOS:
        return Outcome.OBSERVATION
    if number == NOT_RUN:
        return Outcome.ABSENT
    return Outcome.REFUSED


PSEUDO_NAMES = {
    OK: "ok",
    HUNG: "HUNG",
    LOST: "LOST",
    NOT_RUN: "NOT_RUN",
    UNSUPPORTED_HERE: "UNSUPPORTED_HERE",
    DOUBTED: "DOUBTED",
}


def name_of(number: int) -> str:
    """`ENOENT` for 2, `ok` for 0, the pseudo name for negative numbers, `errno 1234` where unnamed."""
    if number in PSEUDO_NAMES:
        return PSEUDO_NAMES[number]
    if number == errno.EOPNOTSUPP:  # equals ENOTSUP on Linux; POSIX calls of files say ENOTSUP
        return "ENOTSUP"
    return errno.errorcode.get(number, f"errno {number}")


def number_of(name: str) -> int:
    """The number of an errno name (`ENOTSUP` = `EOPNOTSUPP`); KeyError where unknown."""
    value = getattr(errno, name, None)
    if not name.startswith("E") or not isinstance(value, int):
        raise KeyError(name)
    return value
