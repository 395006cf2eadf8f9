"""Close-to-open and growth by handle against naive loops over all orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings

from fsconform.oracles.handles import judge_growth, judge_handles
from tests.oracles.histories import Pick, bulk, drawn
from tests.oracles.twins import INF, Op, linearizable, step_register

Growth = tuple[list[tuple[int, int]], tuple[int, int, int]]
"""(first write began, close returned) of lengths 1, 2, ..., and (opened, returned, length seen) of one look."""


def draw_growth(pick: Pick) -> Growth:
    writes, now = [], 0
    for _ in range(pick(1, 4)):
        began = now + pick(0, 2)
        now = began + pick(0, 3)
        writes.append((began, INF if pick(0, 9) == 0 else now))
        now += 1
    opened = pick(0, 12)
    return writes, (opened, opened + pick(0, 3), pick(0, len(writes)))


def twin_growth(case: Growth) -> tuple[bool, bool]:
    """(too short, too long): no length that close-to-open allows is as small, or as great, as the one seen."""
    writes, (opened, returned, seen) = case
    legal = [length for length in range(len(writes) + 1)
             if not any(closed < opened for _, closed in writes[length:])
             and all(began <= returned for began, _ in writes[:length])]  # fmt: skip
    return seen < min(legal), seen > max(legal)


def check_growth(cases: Sequence[Growth]) -> None:
    rows = [(name, k + 1, *write) for name, (writes, _) in enumerate(cases) for k, write in enumerate(writes)]
    write_name, length, began, closed = np.array(rows, np.int64).T
    opened, returned, seen = np.array([look for _, look in cases], np.int64).T
    names = np.arange(len(cases), dtype=np.int64)
    report = judge_growth(write_name, length, began, closed, names, seen, opened, returned)
    for case, short, long_, stale in zip(
        cases, report.short.tolist(), report.long.tolist(), report.staleness.tolist(), strict=True
    ):
        assert (short > 0, long_ > 0) == twin_growth(case), case
        writes, (at, _, got) = case
        assert stale == (max(at - closed for _, closed in writes[got:]) if short else 0), case


def test_growth_agrees_with_the_twin() -> None:
    check_growth(list(bulk(draw_growth)))


@settings(max_examples=80, deadline=None)
@given(drawn(draw_growth))
def test_growth(case: Growth) -> None:
    check_growth([case])


def draw_handles(pick: Pick) -> tuple[list[Op], list[Op]]:
    writes = []
    for version in range(1, pick(1, 3) + 1):
        opened = pick(0, 8)
        writes.append(Op("write", opened, INF if pick(0, 9) == 0 else opened + pick(0, 4), version))
    opened = pick(0, 12)
    return writes, [Op("read", opened, opened + pick(0, 4), pick(0, len(writes)))]


def test_one_read_is_stale_iff_no_order_of_opens_and_closes_explains_it() -> None:
    for writes, reads in bulk(draw_handles):
        report = judge_handles(
            *(np.array([getattr(op, field) if field != "name" else 0 for op in writes], np.int64)
              for field in ("name", "value", "start", "end")),
            *(np.array([getattr(op, field) if field != "name" else 0 for op in reads], np.int64)
              for field in ("name", "value", "start", "end")),
        )  # fmt: skip
        (read,) = reads
        proved = [op._replace(end=min(op.end, read.end)) if op.value == read.value else op for op in writes]
        assert (report.staleness[0] > 0) != linearizable([*proved, read], step_register), (writes, read)


def test_a_read_through_an_old_handle_may_see_the_old_version() -> None:
    one, zero = np.array([1], np.int64), np.array([0], np.int64)
    closed, read_at = np.array([10], np.int64), np.array([50], np.int64)
    before = judge_handles(zero, one, zero, closed, zero, zero, np.array([9]), read_at)
    after = judge_handles(zero, one, zero, closed, zero, zero, np.array([14]), read_at)
    assert before.staleness.tolist() == [0] and after.staleness.tolist() == [4]
    assert (before.opportunities, after.opportunities) == (0, 1)
