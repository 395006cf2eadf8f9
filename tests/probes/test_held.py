"""Held descriptors and mappings: what convicts, what is innocent, what says nothing."""

from __future__ import annotations

import errno

import pytest

from fsconform.probes.catalogue import experiments
from fsconform.probes.experiment import Experiment
from fsconform.probes.held import SIZE
from fsconform.vocabulary.blocks import PAGE, Content
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.errnos import LOST
from fsconform.vocabulary.observations import Observation
from tests.probes.builders import Told, history, steps_of

OLD = int(Content.EXACT) | 1 << 8
NEW = int(Content.EXACT) | 2 << 8
HELD = [
    make_cell("atomic.held-reader", "a-b", observer="read_held"),
    make_cell("unlink.held-reader", "a-b", observer="read_held"),
    make_cell("mmap.held-reader", "a-b", publish="rename"),
    make_cell("mmap.held-reader", "a-b", publish="unlink"),
]
LENGTHS = [make_cell(f"{family}.held-reader", "a-b", observer="fstat_held") for family in ("atomic", "unlink")]


def build(cell: Cell) -> Experiment:
    (experiment,) = experiments([cell], "ab", "salt")
    return experiment


def observe(cell: Cell, told: Told, value: int) -> Observation:
    """One round, in which B's last look was told this."""
    experiment = build(cell)
    look = len(experiment.program.lanes[1].steps) - 1
    at = {place if place[1] >= 0 else (place[0], look): number for place, number in told.items()}
    return experiment.observe(cell, history(experiment.program, [at], [{(1, look): value}]))


@pytest.mark.parametrize("cell", HELD, ids=str)
def test_the_old_bytes_are_right_and_any_others_convict(cell: Cell) -> None:
    right = observe(cell, {}, OLD)
    assert (right.violations, right.informative) == (0, 1)
    for content in (Content.SHORT, Content.ZERO, Content.TORN):
        assert observe(cell, {}, int(content) | 1 << 8).violations == 1
    assert observe(cell, {}, NEW).violations == 1


@pytest.mark.parametrize("cell", HELD, ids=str)
@pytest.mark.parametrize("code", [errno.ESTALE, errno.ENOENT, errno.EIO])
def test_a_hold_that_was_lost_convicts(cell: Cell, code: int) -> None:
    seen = observe(cell, {(1, -1): code}, 0)
    assert seen.violations == 1
    assert seen.witness is not None
    assert errno.errorcode[code] in seen.witness.story


@pytest.mark.parametrize("cell", HELD, ids=str)
def test_what_says_nothing_of_the_hold(cell: Cell) -> None:
    program = build(cell).program
    change = steps_of(program, 0, "unlink" if "unlink" in cell.id else "rename")[-1]
    opened = steps_of(program, 1, "open")[0]
    for told in ({(1, -1): LOST}, {(1, -1): errno.EINTR}, {(0, change): errno.EIO}, {(1, opened): errno.ENOENT}):
        seen = observe(cell, told, 0)
        assert (seen.violations, seen.informative) == (0, 0), told
        assert "could not be prepared" in seen.reason


@pytest.mark.parametrize("cell", LENGTHS, ids=str)
def test_a_held_length_stays(cell: Cell) -> None:
    assert observe(cell, {}, SIZE).violations == 0
    assert observe(cell, {}, 0).violations == 1
    assert observe(cell, {(1, -1): errno.ESTALE}, 0).violations == 1


def test_a_mapping_that_is_refused_is_told_with_its_errno() -> None:
    for cell in (HELD[2], make_cell("mmap.truncate", "a-a")):
        experiment = build(cell)
        mapped = steps_of(experiment.program, 1, "map_held")[0]
        seen = experiment.observe(cell, history(experiment.program, [{(1, mapped): errno.ENODEV}]))
        assert (seen.refused, seen.violations) == ("ENODEV", 0)


def cut(told: int, value: int, length: int, before: int = OLD) -> Observation:
    cell = make_cell("mmap.truncate", "a-a")
    experiment = build(cell)
    first, last = steps_of(experiment.program, 1, "read_mapping")
    seen = history(experiment.program, [{(1, last): told}], [{(1, first): before, (1, last): value}])
    seen.lanes[1].detail[:, last] = length
    return experiment.observe(cell, seen)


def test_a_cut_mapping_ends_with_the_last_page() -> None:
    short = int(Content.SHORT) | 1 << 8
    right = cut(0, short, PAGE)
    assert (right.violations, right.informative) == (0, 1)
    assert right.outcomes == {"one page and then SIGBUS": 1}
    assert cut(0, OLD, 2 * PAGE).violations == 1  # the pages are still there
    assert cut(0, int(Content.ZERO) | 1 << 8, 2 * PAGE).violations == 1
    assert cut(errno.EFAULT, 0, 0).violations == 1  # the first page is gone, too
    unread = cut(0, OLD, 2 * PAGE, before=short)
    assert (unread.violations, unread.informative) == (0, 0)
