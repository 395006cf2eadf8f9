"""Contests: every property fails on the outcome it forbids, and stays silent on the others."""

from __future__ import annotations

import errno

import pytest

from fsconform.probes.exclusive import contest, over_existing, stale_eexist
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.observations import Observation
from tests.probes.builders import Told, guilty_of, history, steps_of

CONTESTS = ("winner", "loser-errno", "success-told", "loser-sees")


def cell(word: str, publish: str = "excl", contenders: str = "2") -> Cell:
    return make_cell(f"exclusive.{word}", "all", publish=publish, state="cold", contenders=contenders)


def observe(word: str, told: Told, values: Told | None = None, publish: str = "excl", **more: bool) -> Observation:
    experiment = contest([cell(word, publish)], "ab", "salt")
    return experiment.observe(experiment.cells[0], history(experiment.program, [told], [values or {}], **more))


def race_at(publish: str = "excl") -> tuple[int, int, int]:
    """(the contest's step, the look right after it, the last look) of both lanes."""
    program = contest([cell("winner", publish)], "ab", "salt").program
    kind = {"excl": "excl_create", "link": "link", "mkdir": "mkdir", "noreplace": "rename_noreplace"}[publish]
    at = steps_of(program, 0, kind)[-1]
    return at, at + 1, len(program.lanes[0].steps) - 1


RACE, LOOK, LAST = race_at()


def told(first: int, second: int, last: int = 0, look: int = 0) -> dict[tuple[int, int], int]:
    return {(0, RACE): first, (1, RACE): second, (0, LAST): last, (1, LAST): last, (0, LOOK): look, (1, LOOK): look}


@pytest.mark.parametrize("word", CONTESTS)
def test_one_winner_and_one_eexist_is_right(word: str) -> None:
    seen = observe(word, told(0, errno.EEXIST))
    assert (seen.violations, seen.informative) == (0, 1)


@pytest.mark.parametrize(
    ("outcome", "guilty"),
    [
        (told(0, 0), {"winner"}),
        (told(errno.EEXIST, errno.EEXIST, errno.ENOENT), {"winner"}),
        (told(errno.EEXIST, errno.EEXIST), {"success-told"}),
        (told(0, errno.EIO), {"loser-errno"}),
        (told(0, errno.EPERM), {"loser-errno"}),
        (told(0, errno.EEXIST, look=errno.ENOENT), {"loser-sees"}),
        (told(0, errno.EEXIST), set()),
        # EIO may have taken effect: nobody can say that there was no winner.
        (told(errno.EIO, errno.EEXIST), {"loser-errno"}),
    ],
)
def test_each_outcome_convicts_the_properties_it_breaks(outcome: Told, guilty: set[str]) -> None:
    assert {word for word in CONTESTS if observe(word, outcome).violations} == guilty


@pytest.mark.parametrize(
    ("word", "outcome", "steps"),
    [
        ("winner", told(0, 0), {(0, RACE), (1, RACE)}),
        ("loser-errno", told(0, errno.EIO), {(1, RACE)}),
        ("loser-sees", told(0, errno.EEXIST, look=errno.ENOENT), {(1, RACE), (1, LOOK)}),
    ],
)
def test_the_witness_marks_what_cannot_be_together(word: str, outcome: Told, steps: set[tuple[int, int]]) -> None:
    assert guilty_of(observe(word, outcome)) == steps


def test_rounds_without_overlap_are_not_informative() -> None:
    seen = observe("winner", told(0, errno.EEXIST), overlap=False)
    assert (seen.informative, seen.attempted) == (0, 1)
    assert "no overlapping calls" in seen.reason


def test_two_winners_convict_without_overlap_too() -> None:
    seen = observe("winner", told(0, 0), overlap=False)
    assert (seen.violations, seen.informative) == (1, 1)


def test_a_partial_file_after_eexist_in_place_is_innocent() -> None:
    """Losers of O_EXCL in place see a partial file on ext4 and tmpfs: the state is recorded, not judged."""
    seen = observe("loser-sees", told(0, errno.EEXIST), {(1, LOOK): int(Content.SHORT)})
    assert seen.violations == 0
    assert any("sees short" in outcome for outcome in seen.outcomes)


@pytest.mark.parametrize("publish", ["link", "noreplace"])
def test_a_partial_file_after_eexist_of_a_closed_file_is_not(publish: str) -> None:
    race, look, _ = race_at(publish)
    outcome = {(1, race): errno.EEXIST}
    assert observe("loser-sees", outcome, {(1, look): int(Content.EXACT) | 1 << 8}, publish).violations == 0
    assert observe("loser-sees", outcome, {(1, look): int(Content.SHORT)}, publish).violations == 1


def test_the_author_of_what_is_there_was_told_eexist() -> None:
    race, _, last = race_at("link")
    second = int(Content.EXACT) | 2 << 8
    seen = observe("success-told", {(1, race): errno.EEXIST}, {(0, last): second, (1, last): second}, "link")
    assert seen.violations == 1


def test_a_call_that_everybody_is_refused_is_no_contest() -> None:
    race, _, _ = race_at("noreplace")
    seen = observe("winner", {(0, race): errno.EINVAL, (1, race): errno.EINVAL}, publish="noreplace")
    assert (seen.refused, seen.informative) == ("EINVAL", 0)


def test_plain_create_never_says_eexist() -> None:
    asked = make_cell("exclusive.plain-create", "all", publish="create", state="cold", contenders="2")
    experiment = contest([asked], "ab", "salt")
    at = steps_of(experiment.program, 0, "create")[0]
    assert experiment.observe(asked, history(experiment.program, [{}])).violations == 0
    assert experiment.observe(asked, history(experiment.program, [{(1, at): errno.EEXIST}])).violations == 1


@pytest.mark.parametrize("publish", ["excl", "link", "mkdir", "noreplace"])
def test_a_published_name_cannot_be_created_again(publish: str) -> None:
    asked = make_cell("exclusive.over-existing", "a-b", publish=publish, state="missed")
    experiment = over_existing([asked], "ab", "salt")
    at = len(experiment.program.lanes[1].steps) - 2
    right = experiment.observe(asked, history(experiment.program, [{(1, at): errno.EEXIST}]))
    wrong = experiment.observe(asked, history(experiment.program, [{}]))
    silent = experiment.observe(asked, history(experiment.program, [{(1, at): errno.EIO}]))
    assert (right.violations, right.informative) == (0, 1)
    assert (wrong.violations, wrong.informative) == (1, 1)
    assert (silent.violations, silent.informative) == (0, 0)
    assert wrong.witness is not None
    assert "told ok" in wrong.witness.story


@pytest.mark.parametrize("publish", ["excl", "mkdir"])
def test_a_removed_name_is_free(publish: str) -> None:
    asked = make_cell("exclusive.stale-eexist", "a-b", publish=publish, state="ghost")
    experiment = stale_eexist([asked], "ab", "salt")
    at = len(experiment.program.lanes[1].steps) - 2
    assert experiment.observe(asked, history(experiment.program, [{}])).violations == 0
    assert experiment.observe(asked, history(experiment.program, [{(1, at): errno.EEXIST}])).violations == 1
    removal = len(experiment.program.lanes[0].steps) - 3
    not_removed = experiment.observe(asked, history(experiment.program, [{(0, removal): errno.EIO, (1, at): 17}]))
    assert (not_removed.violations, not_removed.informative) == (0, 0)
