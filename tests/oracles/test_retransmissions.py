"""Calls that a server may have performed twice: their EEXIST and ENOENT prove nothing about their own effect."""

from __future__ import annotations

import errno

import pytest

from fsconform.oracles.examination import examine
from fsconform.oracles.retransmissions import doubt
from fsconform.vocabulary.steps import Step
from tests.oracles.test_mortals import NAME, one_round

STAT, MKDIR, RMDIR = Step("stat", NAME), Step("mkdir", NAME), Step("rmdir", NAME)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        # Nobody else made the name: the mkdir that was told EEXIST did.
        ("mkdir", [("a", [(MKDIR, 0, 5, errno.EEXIST)]), ("b", [(STAT, 10, 11, 0)])]),
        # Nobody else removed it: the rmdir that was told ENOENT did.
        ("rmdir", [("a", [(MKDIR, 0, 5, 0), (RMDIR, 10, 15, errno.ENOENT)]), ("b", [(STAT, 20, 21, errno.ENOENT)])]),
    ],
)
def test_an_answer_to_the_second_request_accuses_nobody_where_the_profile_says_so(
    kind: str, rows: list[object]
) -> None:
    history = one_round(*rows)  # type: ignore[arg-type]
    assert examine(history).anomalies
    assert examine(doubt(history, {"link"})).anomalies
    assert examine(doubt(history, {kind})).anomalies == ()


def test_what_was_told_success_is_believed_still() -> None:
    history = one_round(("a", [(MKDIR, 0, 5, 0)]), ("b", [(MKDIR, 3, 8, 0)]))
    assert {anomaly.kind for anomaly in examine(doubt(history, {"mkdir"})).anomalies} == {"two-winners"}


def test_the_loser_of_a_race_is_told_nothing_wrong() -> None:
    history = one_round(("a", [(MKDIR, 0, 5, 0)]), ("b", [(MKDIR, 3, 8, errno.EEXIST)]))
    assert examine(doubt(history, {"mkdir"})).anomalies == ()
