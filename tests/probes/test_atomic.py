"""Replacement, order, first opens and capabilities: what convicts, and what is innocent."""

from __future__ import annotations

import errno

import pytest

from fsconform.probes.atomic import order, replacement
from fsconform.probes.capability import FEATURES, exclusion, support
from fsconform.probes.content import first_open
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.cells import make_cell
from tests.probes.builders import guilty_of, history, steps_of

PRESENCE = make_cell("atomic.presence", "a-b", observer="open_read", size="64k")
CONTENT = make_cell("atomic.content", "a-b", observer="open_read", size="64k")
EXACT = int(Content.EXACT)


def test_a_gap_breaks_presence_only_and_a_torn_read_content_only() -> None:
    experiment = replacement([PRESENCE, CONTENT], "ab", "salt")
    read = steps_of(experiment.program, 1, "open_read")[3]
    whole = {(lane, k): EXACT | 1 << 8 for lane in (1, 2) for k in steps_of(experiment.program, lane, "open_read")}
    gap = history(experiment.program, [{(1, read): errno.ENOENT}], [whole])
    torn = history(experiment.program, [{}], [whole | {(1, read): int(Content.TORN)}])
    assert [experiment.observe(cell, gap).violations for cell in (PRESENCE, CONTENT)] == [1, 0]
    assert guilty_of(experiment.observe(PRESENCE, gap)) == {(1, read)}
    assert [experiment.observe(cell, torn).violations for cell in (PRESENCE, CONTENT)] == [0, 1]


def test_a_whole_old_version_is_stale_and_not_torn() -> None:
    experiment = replacement([CONTENT], "ab", "salt")
    whole = {(lane, k): EXACT | 1 << 8 for lane in (1, 2) for k in steps_of(experiment.program, lane, "open_read")}
    seen = experiment.observe(CONTENT, history(experiment.program, [{}], [whole]))
    assert seen.violations == 0
    assert any(outcome.startswith("stale by") for outcome in seen.outcomes)


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EIO])
def test_an_error_is_neither_a_gap_nor_a_content(code: int) -> None:
    experiment = replacement([PRESENCE, CONTENT], "ab", "salt")
    reads = {(1, k): code for k in steps_of(experiment.program, 1, "open_read")}
    for cell in (PRESENCE, CONTENT):
        assert experiment.observe(cell, history(experiment.program, [reads])).violations == 0


def test_neither_name_convicts_only_in_the_innocent_order() -> None:
    cell = make_cell("atomic.order", "a-b")
    experiment = order([cell], "ab", "salt")
    # Looks stand in pairs (old, new) after the barrier.
    neither = {(1, 3): errno.ENOENT, (1, 4): errno.ENOENT}
    new_then_old = {(1, 2): errno.ENOENT, (1, 3): errno.ENOENT}
    seen = experiment.observe(cell, history(experiment.program, [neither]))
    assert seen.violations == 1 and guilty_of(seen) == {(1, 3), (1, 4)}
    assert experiment.observe(cell, history(experiment.program, [new_then_old])).violations == 0


def test_an_incomplete_first_open_convicts_and_an_absent_name_does_not() -> None:
    cell = make_cell("content.complete", "a-b", publish="rename", size="64k")
    experiment = first_open([cell], "ab", "salt")
    read = steps_of(experiment.program, 1, "open_read")[0]
    short = experiment.observe(cell, history(experiment.program, [{}], [{(1, read): int(Content.SHORT)}]))
    absent = history(experiment.program, [{(1, read): errno.ENOENT, (1, read + 1): errno.ENOENT}])
    assert short.violations == 1
    assert (experiment.observe(cell, absent).violations, experiment.observe(cell, absent).informative) == (0, 0)


@pytest.mark.parametrize("word", FEATURES)
def test_a_refused_feature_is_told_with_its_errno(word: str) -> None:
    cell = make_cell(f"capability.{word}", "a-a")
    experiment = support([cell], "ab", "salt")
    seen = experiment.observe(cell, history(experiment.program, [{(0, FEATURES[word].question): errno.EINVAL}]))
    assert (seen.refused, seen.violations) == ("EINVAL", 0)
    assert seen.witness is not None


@pytest.mark.parametrize("word", sorted(set(FEATURES) - {"fsync-dir"}))
def test_a_success_without_effect_convicts(word: str) -> None:
    cell = make_cell(f"capability.{word}", "a-a")
    experiment = support([cell], "ab", "salt")
    torn = {(0, k): int(Content.TORN) for k in range(len(experiment.program.lanes[0].steps))}
    seen = experiment.observe(cell, history(experiment.program, [{}], [torn]))
    assert (seen.refused, seen.violations) == ("works", 1)


@pytest.mark.parametrize("word", ["flock", "fcntl-lock"])
def test_a_lock_granted_to_both_convicts(word: str) -> None:
    cell = make_cell(f"capability.{word}", "a-b")
    experiment = exclusion([cell], "ab", "salt")
    busy = experiment.observe(cell, history(experiment.program, [{(1, 2): errno.EAGAIN}]))
    both = experiment.observe(cell, history(experiment.program, [{}]))
    refused = experiment.observe(cell, history(experiment.program, [{(0, 3): errno.ENOLCK, (1, 2): errno.ENOLCK}]))
    assert (busy.violations, busy.informative) == (0, 1)
    assert both.violations == 1
    assert (refused.refused, refused.violations) == ("ENOLCK", 0)
