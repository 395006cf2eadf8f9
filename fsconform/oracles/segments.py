"""Array primitives on groups: ordering by two keys, running and range minima that never cross a group's border."""

from __future__ import annotations

import numpy as np

from fsconform.vocabulary.histories import Ints


def grouped(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """(order, cut): a stable order by `first`, then `second`, and where each pair of equal values begins in it."""
    count = len(first)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, width = int(second.min()), int(second.max()) - int(second.min()) + 1
    base, span = int(first.min()), int(first.max()) - int(first.min()) + 1
    if span * width < 1 << 62:
        key = (first - base) * width + (second - low)
        order = np.argsort(key, kind="stable")
        key = key[order]
        changed = key[1:] != key[:-1]
    else:
        order = np.lexsort((second, first))
        a, b = first[order], second[order]
        changed = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    return order, np.flatnonzero(np.append(True, changed))


def running_minimum(values: Ints, group: Ints, limit: int, backwards: bool = False) -> Ints:
    """Least value so far within the own group, in the given order or from its end.

    `group` ascends; values are in [0, limit]. The groups are stacked so that each one lies below those seen before.
    """
    width = limit + 1
    if backwards:
        stacked = group * width + values
        return np.asarray(np.minimum.accumulate(stacked[::-1])[::-1] - group * width, np.int64)
    top = int(group[-1]) if len(group) else 0
    shift = (top - group) * width
    return np.asarray(np.minimum.accumulate(shift + values) - shift, np.int64)


def range_minimum(values: Ints, start: Ints, stop: Ints, empty: int) -> Ints:
    """min(values[start:stop]) for many ranges; `empty` where stop <= start. O((n + ranges) log n)."""
    result = np.full(len(start), empty, np.int64)
    length = stop - start
    table, width = values, 1
    while width <= len(values):
        here = np.flatnonzero((length >= width) & (length < 2 * width))
        if len(here):
            result[here] = np.minimum(table[start[here]], table[stop[here] - width])
        table = np.minimum(table[:-width], table[width:]) if len(table) > width else table[:0]
        width *= 2
    return result
