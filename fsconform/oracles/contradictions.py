"""Contradictions of a witness, looked for in a history."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fsconform.oracles.outcomes import Bools
from fsconform.vocabulary.contradictions import Contradiction, Order, Result
from fsconform.vocabulary.errnos import OK, name_of
from fsconform.vocabulary.histories import RoundHistory


def rounds_showing(contradictions: tuple[Contradiction, ...], history: RoundHistory) -> Bools:
    """(R,) rounds of a history, as measured, that show any of them; orders hold beyond the clocks' errors."""
    shown = np.zeros(history.rounds, np.bool_)
    for contradiction in contradictions:
        held = np.ones(history.rounds, np.bool_)
        for result in contradiction.results:
            held &= _has(result, history)
        for order in contradiction.orders:
            held &= _ordered(order, history)
        shown |= held
    return shown


def _has(result: Result, history: RoundHistory) -> Bools:
    lane, step = result.place
    told, value = history.lanes[lane].errno[:, step], history.lanes[lane].value[:, step]
    numbers = [number for number in np.unique(told) if name_of(int(number)) == result.errno]
    held: npt.NDArray[np.bool_] = np.isin(told, numbers)
    if result.errno == name_of(OK) and result.mask:
        held &= ((value & result.mask) == result.value) != result.differs
    return held


def _ordered(order: Order, history: RoundHistory) -> Bools:
    (before, first), (after, then) = order.first, order.then
    gap = history.lanes[after].invoked[:, then] - history.lanes[before].returned[:, first]
    held: Bools = gap - history.error_between(before, after) > order.least_ns
    return held
