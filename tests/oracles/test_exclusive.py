"""Rounds of exclusive creates against the twin."""

from __future__ import annotations

import errno
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

from fsconform.oracles.exclusive import ExclusiveReport, judge_exclusive
from fsconform.vocabulary.errnos import HUNG, LOST, NOT_RUN
from fsconform.vocabulary.histories import Ints
from tests.oracles.histories import Pick, bulk, drawn, interval
from tests.oracles.twins import INF, Op, linearizable, step_once

ANSWERS = (0, 0, errno.EEXIST, errno.EEXIST, errno.EEXIST, errno.EIO, HUNG, LOST, NOT_RUN, errno.EINVAL, errno.ENOENT)
OPEN = (errno.EIO, HUNG, LOST)
Round = tuple[list[tuple[int, int, int]], int]
"""(start, end, errno) of three contenders, and the moment from which the name surely existed."""


def draw_round(pick: Pick) -> Round:
    calls = []
    for _ in range(3):
        start, end = interval(pick)
        answer = ANSWERS[pick(0, len(ANSWERS) - 1)]
        calls.append((start, INF if answer in (HUNG, LOST) else end, answer))
    return calls, INF if pick(0, 2) else pick(0, 8)


def columns(rounds: list[Round]) -> tuple[Ints, Ints, Ints, Ints]:
    calls = np.array([row for row, _ in rounds], np.int64)
    return calls[:, :, 0], calls[:, :, 1], calls[:, :, 2], np.array([exists for _, exists in rounds], np.int64)


def as_operations(calls: list[tuple[int, int, int]]) -> list[Op]:
    """The contenders' calls alone, as operations on a free name."""
    words = {0: "win", errno.EEXIST: "lose"} | dict.fromkeys(OPEN, "maybe")
    return [Op(words[answer], start, INF if answer in OPEN else end) for start, end, answer in calls if answer in words]


def check(rounds: list[Round]) -> None:
    report = judge_exclusive(*columns(rounds))
    for number, (calls, exists) in enumerate(rounds):
        ran = [call for call in calls if call[2] != NOT_RUN]
        met = [a[0] <= b[1] and b[0] <= a[1] for a, b in combinations(ran, 2)]
        wins = sum(answer == 0 for _, _, answer in ran)
        possible = linearizable(as_operations(calls), step_once)
        assert bool(report.contested[number]) == any(met)
        assert bool(report.all_overlap[number]) == (len(ran) >= 2 and all(met))  # Helly: pairwise meets in one moment
        assert report.winners[number] == wins
        assert bool(report.two_winners[number]) == (wins > 1)
        assert bool(report.no_winner[number]) == (wins == 0 and not possible and exists >= INF)
        in_doubt = wins == 0 and any(answer in OPEN for *_, answer in ran)
        assert bool(report.undecided[number]) == (in_doubt and not report.no_winner[number])
        over = any(answer == 0 and not linearizable([Op("present", -9, exists), Op("win", start, end)], step_over)
                   for start, end, answer in ran)  # fmt: skip
        assert bool(report.win_over_existing[number]) == over
        told = [answer for *_, answer in ran if answer > 0] if wins else []
        assert bool(report.wrong_errno[number]) == any(answer != errno.EEXIST for answer in told)
        assert report.losers[number] == (len(ran) - wins if wins else 0)
    assert sum(report.loser_errnos.values()) == sum(
        sum(answer > 0 for *_, answer in calls) for calls, _ in rounds if any(answer == 0 for *_, answer in calls)
    )


def step_over(state: int, op: Op) -> int | None:
    """The name exists from the moment it was seen on; a win must come before that moment."""
    if op.kind == "present":
        return 1
    return None if state else 0


def test_agrees_with_the_twin_on_random_rounds() -> None:
    check(list(bulk(draw_round, 2000)))


@settings(max_examples=100, deadline=None)
@given(drawn(draw_round))
def test_agrees_with_the_twin(drawn_round: Round) -> None:
    check([drawn_round])


def test_two_overlapping_winners_are_named_with_their_rounds() -> None:
    zeros = np.zeros((3, 2), np.int64)
    answers = np.array([[0, errno.EEXIST], [0, 0], [errno.EIO, errno.EEXIST]], np.int64)
    report = judge_exclusive(zeros, zeros + 5, answers)
    assert report.two_winners.tolist() == [False, True, False]
    assert report.contested.all() and report.all_overlap.all()
    assert report.undecided.tolist() == [False, False, True] and not report.no_winner.any()
    assert report.loser_errnos == {errno.EEXIST: 1}


def open_outcome_is_a_loss(invoked: Ints, returned: Ints, told: Ints, exists: Ints) -> ExclusiveReport:
    """Mutant: EIO means that the create did not happen."""
    return judge_exclusive(invoked, returned, np.where(np.isin(told, OPEN), errno.EEXIST, told), exists)


def touching_is_no_contest(invoked: Ints, returned: Ints, told: Ints, exists: Ints) -> ExclusiveReport:
    """Mutant: calls that only touch did not meet."""
    return judge_exclusive(2 * invoked, np.where(returned >= INF, INF, 2 * returned - 1), told, exists)


@pytest.mark.parametrize("mutant", [open_outcome_is_a_loss, touching_is_no_contest], ids=lambda m: m.__name__)
def test_wrong_formulations_differ(mutant: object) -> None:
    rounds = list(bulk(draw_round, 300, seed=4))
    right = judge_exclusive(*columns(rounds))
    wrong = mutant(*columns(rounds))  # type: ignore[operator]
    assert (right.no_winner != wrong.no_winner).any() or (right.contested != wrong.contested).any()
