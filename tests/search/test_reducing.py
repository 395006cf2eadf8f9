"""The reducer keeps what fails, and keeps it failing often; its samples follow from the rate at hand."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconform.search.drafts import Act, Draft, Move
from fsconform.search.encoding import Ground, decode_draft
from fsconform.search.reducing import MOST_ROUNDS, Count, reduce_draft, smaller_drafts

GROUND = Ground(("a", "b"))
MESSAGE = 32


def counting(rate_of: Callable[[Draft], float], seed: int = 0) -> tuple[Count, list[int]]:
    """A draft that fails with the probability `rate_of(draft)` per round, and the rounds that were asked for."""
    dice, asked = random.Random(seed), [0]

    def count(draft: Draft, rounds: int) -> tuple[int, int]:
        asked[0] += rounds
        return sum(dice.random() < rate_of(draft) for _ in range(rounds)), rounds

    return count, asked


def never() -> bool:
    return False


def both_create(draft: Draft) -> bool:
    """Two workers create name 0 exclusively in one phase."""
    exclusive = (Move(Act.EXCL, 0), Move(Act.CLAIM, 0), Move(Act.LINK, 0))
    return any(sum(any(move in part for move in exclusive) for part in phase) > 1 for phase in draft.phases)


LARGE = decode_draft(bytes([10, 3, 19, 0, 6, 1, 66, 33, 6, 3, 35, 66, 130, 12, 97, 5]), Ground(("a", "b", "c")))


@given(st.binary(min_size=4, max_size=20), st.booleans())
def test_candidates_are_smaller_or_simpler(data: bytes, bare: bool) -> None:
    draft = decode_draft(data, GROUND)
    for candidate in smaller_drafts(draft, bare):
        assert candidate != draft and candidate.moves
        assert candidate.size <= draft.size and candidate.sites == draft.sites
        assert candidate.size < draft.size or _weight(candidate) < _weight(draft)
        assert bare or Act.CLAIM not in {move.act for move in candidate.moves}
        candidate.program(0)


def _weight(draft: Draft) -> int:
    order = [Act.STAT, Act.OPEN, Act.LIST, Act.WATCH, Act.CLAIM, Act.EXCL, Act.PUBLISH, Act.LINK]
    return sum(order.index(move.act) for move in draft.moves)


@pytest.mark.parametrize("rate", [1.0, 0.3, 0.1, 0.02])
def test_a_race_is_reduced_to_two_moves(rate: float) -> None:
    assert both_create(LARGE) and LARGE.size[0] > 8
    for seed in range(20):
        count, asked = counting(lambda draft: rate * both_create(draft), seed)
        reduced = reduce_draft(LARGE, count, never, MESSAGE, bare=True)
        assert len(reduced.draft.moves) == 2 and both_create(reduced.draft)
        assert asked[0] < 40 * MOST_ROUNDS


def test_the_rate_is_kept_up() -> None:
    """A look that catches one round in a hundred does not replace a watch that catches every second one."""

    def rate(draft: Draft) -> float:
        acts = {move.act for move in draft.moves}
        if Act.PUBLISH not in acts:
            return 0.0
        return 0.5 if Act.WATCH in acts else 0.01 if Act.OPEN in acts else 0.0

    draft = Draft(("a", "b"), (((Move(Act.PUBLISH, 0), Move(Act.STAT, 0)), (Move(Act.WATCH, 0), Move(Act.LIST, 0))),))
    count, _ = counting(rate)
    reduced = reduce_draft(draft, count, never, MESSAGE)
    assert set(reduced.draft.moves) == {Move(Act.PUBLISH, 0), Move(Act.WATCH, 0)}
    rare = Draft(("a", "b"), (((Move(Act.PUBLISH, 0),), (Move(Act.OPEN, 0),)),))
    amplified = reduce_draft(rare, counting(rate)[0], never, MESSAGE)
    assert Move(Act.WATCH, 0) in amplified.draft.moves and amplified.rate > 0.2


def test_what_cannot_be_seen_again_is_left_as_it_is() -> None:
    count, asked = counting(lambda draft: 0.0)
    reduced = reduce_draft(LARGE, count, never, MESSAGE)
    assert reduced.draft == LARGE and 0 < reduced.rate < 0.01
    assert asked[0] > MESSAGE


def test_it_ends_when_it_is_told_to() -> None:
    calls = [0]

    def count(draft: Draft, rounds: int) -> tuple[int, int]:
        calls[0] += 1
        return rounds * both_create(draft), rounds

    reduced = reduce_draft(LARGE, count, lambda: calls[0] >= 5, MESSAGE)
    assert calls[0] == 5 and both_create(reduced.draft) and reduced.draft.size <= LARGE.size
