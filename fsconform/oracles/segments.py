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


class Until:
    """For every query: the rows of its group whose time is not later than its own."""

    backwards = False

    def __init__(self, row_group: Ints, row_time: Ints, query_group: Ints, query_time: Ints) -> None:
        self.rows = len(row_group)
        groups = np.r_[row_group, query_group]
        # A stable sort keeps rows before queries at equal times.
        self.order = np.lexsort((np.r_[row_time, query_time], groups))
        self.groups = groups[self.order]
        self.is_row = self.order < self.rows
        position = np.empty(len(groups), np.int64)
        position[self.order] = np.arange(len(groups))
        self.row_at, self.query_at = position[: self.rows], position[self.rows :]

    def ranks(self, values: Ints) -> tuple[Ints, Ints, Ints]:
        """(rows by ascending value, least rank seen at each place, rank at each place); no row: `rows`."""
        order = np.argsort(values, kind="stable")
        rank = np.full(self.rows + 1, self.rows, np.int64)
        rank[order] = np.arange(self.rows)
        placed = rank[np.where(self.is_row, self.order, self.rows)]
        return order, running_minimum(placed, self.groups, self.rows, self.backwards), placed

    def owner(self, values: Ints) -> Ints:
        """Index of the row with the least value among those of each query; -1 where there is none."""
        order, least, _ = self.ranks(values)
        return np.asarray(np.append(order, -1)[least[self.query_at]], np.int64)

    def minimum(self, values: Ints, empty: int) -> Ints:
        """The least value among the rows of each query; `empty` where there is none."""
        return np.asarray(np.append(values, empty)[self.owner(values)], np.int64)

    def maximum(self, values: Ints, empty: int) -> Ints:
        """The greatest value among the rows of each query; `empty` where there is none."""
        return np.asarray(np.append(values, empty)[self.owner(-values)], np.int64)


class After(Until):
    """For every query: the rows of its group whose time is later than its own."""

    backwards = True


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
