"""Content looks against naive loops over single looks."""

from __future__ import annotations

import errno

import numpy as np
from hypothesis import given, settings

from fsconform.oracles.content import Seen, judge_replaceable, judge_write_once, seen, tally
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.errnos import HUNG, NOT_RUN
from fsconform.vocabulary.histories import Ints
from tests.oracles.histories import Pick, bulk, drawn, interval
from tests.oracles.twins import INF, Op, linearizable, step_register

ANSWERS = (0, 0, 0, 0, 0, errno.ENOENT, errno.ESTALE, errno.EIO, errno.EINVAL, HUNG, NOT_RUN)
Look = tuple[int, int, int, int, int]
"""start, errno, value, and for write-once names: published, complete."""


def draw_look(pick: Pick) -> Look:
    answer = ANSWERS[pick(0, len(ANSWERS) - 1)]
    times = (-INF, INF, 3, 5, 7)
    return pick(0, 9), answer, pick(0, 5) if pick(0, 1) else 0, times[pick(1, 4)], times[pick(0, 4)]


def check_write_once(looks: list[Look]) -> None:
    start, answer, value, published, complete = np.array(looks, np.int64).T
    report = judge_write_once(answer, value, start, published, complete)
    for number, look in enumerate(looks):
        began, told, content, known, whole = look
        assert bool(report.broken[number]) == (told == 0 and content != 0 and began > whole)
        assert bool(report.missing[number]) == (told == errno.ENOENT and began > known)
        assert bool(report.failed[number]) == (told in (errno.ESTALE, errno.EIO) and began > known)
    assert report.judged == sum(told == 0 and began > whole for began, told, _, _, whole in looks)
    assert sum(report.counts.values()) == sum(told != NOT_RUN for _, told, *_ in looks)


def test_write_once_on_random_looks() -> None:
    check_write_once(list(bulk(draw_look, 2000)))


@settings(max_examples=60, deadline=None)
@given(drawn(draw_look))
def test_write_once(look: Look) -> None:
    check_write_once([look])


Replaced = tuple[list[tuple[int, int]], int, int, int]
"""Publishes of versions 1.. by one writer in its order, start and end of a read, version read."""


def draw_replaced(pick: Pick) -> Replaced:
    publishes, now = [], 0
    for _ in range(pick(1, 4)):
        start = now + pick(0, 2)
        now = start + pick(0, 2)
        publishes.append((start, INF if pick(0, 9) == 0 else now))
        now += 1
    start, end = interval(pick)
    return publishes, start, end, pick(0, len(publishes))


def fewest_behind(case: Replaced) -> int:
    """By trying all orders: the least k such that version + k may have been the current one at the read."""
    publishes, start, end, version = case
    writes = [Op("write", began, done, number + 1) for number, (began, done) in enumerate(publishes)]
    for behind in range(len(publishes) - version + 1):
        if linearizable([*writes, Op("read", start, end, version + behind)], step_register):
            return behind
    return 0  # a read from the future: not a matter of staleness


def check_replaced(cases: list[Replaced]) -> None:
    width = max(len(publishes) for publishes, *_ in cases)
    returned = np.array([[done for _, done in case[0]] + [INF] * (width - len(case[0])) for case in cases], np.int64)
    start, version = (np.array([[case[k]] for case in cases], np.int64) for k in (1, 3))
    report = judge_replaceable(np.zeros_like(start), version << 8, start, returned)
    for case, behind in zip(cases, report.stale_by[:, 0].tolist(), strict=True):
        fewest = fewest_behind(case)
        if any(done >= INF for _, done in case[0]):  # then an age counts what may have come in another order
            assert (behind > 0) == (fewest > 0), case
        else:
            assert behind == fewest, case
    assert not report.broken.any() and not report.missing.any()


def test_age_in_versions_agrees_with_the_twin() -> None:
    check_replaced(list(bulk(draw_replaced, 1500)))


@settings(max_examples=60, deadline=None)
@given(drawn(draw_replaced))
def test_age_in_versions(case: Replaced) -> None:
    check_replaced([case])


def test_replaceable_names_are_always_there_and_always_whole() -> None:
    answers = np.array([[0, errno.ENOENT, errno.ENOENT, 0, errno.ESTALE]], np.int64)
    values = np.array([[int(Content.TORN), 0, 0, 1 << 8, 0]], np.int64)
    report = judge_replaceable(answers, values, np.array([[4, 5, 30, 31, 32]]), np.array([[10, 20]]))
    assert report.broken.tolist() == [[True, False, False, False, False]]
    assert report.missing.tolist() == [[False, False, True, False, False]]
    assert report.failed.tolist() == [[False, False, False, False, True]]
    assert report.counts == {"torn": 1, "ENOENT": 2, "stale by 1": 1, "ESTALE": 1}


def test_every_class_of_content_is_told_apart() -> None:
    values: Ints = np.array([int(content) for content in Content] + [99], np.int64)
    assert seen(np.zeros_like(values), values).tolist() == [*map(int, Content), int(Seen.TORN)]
    assert tally(seen(np.array([0, NOT_RUN, errno.EACCES]), np.zeros(3, np.int64))) == {"exact": 1, "other errno": 1}
