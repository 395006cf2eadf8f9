"""Pieces, copies, links, appends and lengths: what convicts, what is innocent, what says nothing."""

from __future__ import annotations

import errno

import pytest

from fsconform.probes.appends import EACH, RECORD
from fsconform.probes.catalogue import experiments
from fsconform.probes.experiment import Experiment
from fsconform.probes.rewrite import make_trial
from fsconform.probes.size import make_trial as grow_trial
from fsconform.vocabulary.blocks import Content
from fsconform.vocabulary.cells import Cell, make_cell
from fsconform.vocabulary.histories import RoundHistory
from fsconform.vocabulary.observations import Observation
from tests.probes.builders import Told, history, steps_of

EXACT, SHORT, TORN, ZERO = (int(content) for content in (Content.EXACT, Content.SHORT, Content.TORN, Content.ZERO))
UNALIGNED = make_cell("content.unaligned", "a-b", observer="open_read")
NEIGHBOURS = make_cell("content.neighbours", "a-b")
TAIL = make_cell("content.tail", "a-b")
COPY = make_cell("content.copy-range", "a-b", size="64k")
REUSE = make_cell("content.source-reuse", "a-b", state="cold")
IDENTITY, COUNT = make_cell("link.identity", "a-b"), make_cell("link.count", "a-b")
APPEND = make_cell("append.atomic", "a-b")
EXACT_SIZE = make_cell("size.exact", "a-b", observer="stat", size="4097b")


def build(cell: Cell) -> Experiment:
    (experiment,) = experiments([cell], "ab", "salt")
    return experiment


def one_round(experiment: Experiment, told: Told | None = None, values: Told | None = None) -> RoundHistory:
    """Every write took all its bytes, unless `values` says otherwise."""
    lanes = enumerate(experiment.program.lanes)
    whole = {(number, k): step.size for number, lane in lanes for k, step in enumerate(lane.steps)
             if step.kind in ("write", "copy_range")}  # fmt: skip
    return history(experiment.program, [told or {}], [whole | dict(values or {})])


def observe(cell: Cell, told: Told | None = None, values: Told | None = None) -> Observation:
    experiment = build(cell)
    return experiment.observe(cell, one_round(experiment, told, values))


def looks(cell: Cell, kind: str = "open_read") -> list[tuple[int, int]]:
    program = build(cell).program
    return [(lane, k) for lane in range(len(program.lanes)) for k in steps_of(program, lane, kind)]


@pytest.mark.parametrize(("cell", "version"), [(UNALIGNED, 0), (NEIGHBOURS, 2), (COPY, 0)], ids=str)
def test_all_bytes_are_right_and_any_others_convict(cell: Cell, version: int) -> None:
    places = looks(cell)
    whole = dict.fromkeys(places, EXACT | version << 8)
    right = observe(cell, values=whole)
    assert (right.violations, right.informative) == (0, 1)
    for wrong in (SHORT, TORN, ZERO):
        assert observe(cell, values=whole | {places[-1]: wrong | version << 8}).violations == 1
    unseen = observe(cell, {places[-1]: errno.ENOENT}, whole)
    assert (unseen.violations, unseen.informative) == (0, 0)


@pytest.mark.parametrize("cell", [UNALIGNED, NEIGHBOURS, APPEND, EXACT_SIZE], ids=str)
def test_a_writer_that_was_told_of_its_failure_convicts_nobody(cell: Cell) -> None:
    write = steps_of(build(cell).program, 0, "write")[0]
    close = steps_of(build(cell).program, 0, "close")[-1]
    for told, values in (({(0, write): errno.ENOSPC}, {}), ({}, {(0, write): 7}), ({(0, close): errno.EIO}, {})):
        seen = observe(cell, told, values)
        assert (seen.violations, seen.informative) == (0, 0)


def test_old_bytes_beside_the_new_ones_are_a_neighbours_loss() -> None:
    places = looks(NEIGHBOURS)
    seen = observe(NEIGHBOURS, values=dict.fromkeys(places, EXACT | 2 << 8) | {places[0]: TORN | 1 << 8})
    assert seen.violations == 1
    assert seen.witness is not None
    assert "torn of version 1" in seen.witness.story


def test_the_tail_may_be_short_and_nothing_else() -> None:
    places = looks(TAIL)
    short = dict.fromkeys(places, SHORT)
    right = observe(TAIL, values=short)
    assert (right.violations, right.informative) == (0, 1)
    for wrong in (TORN, ZERO, int(Content.LONG)):
        assert observe(TAIL, values=short | {places[3]: wrong}).violations == 1
    experiment = build(TAIL)
    late = one_round(experiment, values=short)
    late.lanes[1].invoked[:] += 1_000_000
    late.lanes[1].returned[:] += 1_000_000
    seen = experiment.observe(TAIL, late)
    assert (seen.violations, seen.informative) == (0, 0)
    assert "no read while the file grew" in seen.reason


def test_a_copy_that_is_told_short_convicts_and_a_refused_one_is_told() -> None:
    copying = (0, steps_of(build(COPY).program, 0, "copy_range")[0])
    seen = observe(COPY, values={copying: 4096})
    assert seen.violations == 1
    assert seen.witness is not None
    assert "4096 of 65536 bytes copied" in seen.witness.story
    refused = observe(COPY, {copying: errno.EXDEV})
    assert (refused.refused, refused.violations) == ("EXDEV", 0)


def test_every_name_keeps_its_own_bytes() -> None:
    places = looks(REUSE)
    own = {place: EXACT | (number % 2 + 1) << 8 for number, place in enumerate(places)}
    right = observe(REUSE, values=own)
    assert (right.violations, right.informative) == (0, 1)
    assert observe(REUSE, values=own | {places[0]: EXACT | 2 << 8}).violations == 1
    assert observe(REUSE, {places[0]: errno.ENOENT}, own).violations == 1  # who renamed it must find it
    assert observe(REUSE, {places[2]: errno.ENOENT}, own).violations == 0  # others: a question of visibility
    again = (0, steps_of(build(REUSE).program, 0, "excl_create")[1])
    assert observe(REUSE, {again: errno.EEXIST}, own).violations == 1
    assert observe(REUSE, {again: errno.EIO}, own).violations == 0


def test_two_inode_numbers_convict() -> None:
    experiment = build(IDENTITY)
    read = {looks(IDENTITY)[0]: EXACT | 1 << 8}
    same = one_round(experiment, values=read)
    assert experiment.observe(IDENTITY, same).violations == 0
    for lane in (0, 1):
        two = one_round(experiment, values=read)
        two.lanes[lane].detail[:, steps_of(experiment.program, lane, "stat")[1]] = 7
        assert experiment.observe(IDENTITY, two).violations == 1
    assert observe(IDENTITY, values={looks(IDENTITY)[0]: EXACT | 2 << 8}).violations == 1


def test_names_are_counted_before_and_after_a_removal() -> None:
    own, last, *others = looks(COUNT, "stat_links")
    right = {own: 2, last: 1} | dict.fromkeys(others, 2)
    assert observe(COUNT, values=right).violations == 0
    for place in (own, *others):
        assert observe(COUNT, values=right | {place: 1}).violations == 1
    assert observe(COUNT, values=right | {last: 2}).violations == 1
    unlinked = (0, steps_of(build(COUNT).program, 0, "unlink")[0])
    assert observe(COUNT, {unlinked: errno.EIO}, right | {last: 2}).violations == 0


@pytest.mark.parametrize("cell", [IDENTITY, COUNT], ids=str)
def test_a_link_that_is_refused_is_told_with_its_errno(cell: Cell) -> None:
    linking = (0, steps_of(build(cell).program, 0, "link")[0])
    seen = observe(cell, {linking: errno.EPERM})
    assert (seen.refused, seen.violations) == ("EPERM", 0)


def test_all_records_or_a_conviction() -> None:
    experiment = build(APPEND)
    places = looks(APPEND, "read_records")
    every = dict.fromkeys(places, (1 << 2 * EACH) - 1)

    def seen(values: Told, length: int) -> Observation:
        told = one_round(experiment, values=values)
        for lane, k in places:
            told.lanes[lane].detail[:, k] = length
        return experiment.observe(APPEND, told)

    right = seen(every, 2 * EACH * RECORD)
    assert (right.violations, right.informative) == (0, 1)
    assert seen(every | {places[1]: (1 << EACH) - 1}, 2 * EACH * RECORD).violations == 1
    assert seen(every, 2 * EACH * RECORD + RECORD).violations == 1  # something else is there, too


def test_a_length_is_exact_to_the_byte() -> None:
    look = (1, 1)
    assert observe(EXACT_SIZE, values={look: 4097}).violations == 0
    for length in (0, 4096, 4098, 8192):
        assert observe(EXACT_SIZE, values={look: length}).violations == 1


@pytest.mark.parametrize(("state", "observer"), [("known", "open_read"), ("held", "read_held"), ("cold", "mmap_read")])
def test_a_rewrite_has_the_length_of_what_it_replaces(state: str, observer: str) -> None:
    cell = make_cell("content.rewrite", "a-b", state=state, observer=observer, age="fresh")
    trial = make_trial(cell, 3, "w/3", "salt")
    before, after = (next(step for step in steps if step.kind == "write") for steps in (trial.seed, trial.change))
    assert (before.size, before.version) == (after.size, after.version - 1)
    assert trial.look.kind == observer
    assert bool(trial.prime) == (state != "cold")
    wants = {(EXACT | 2 << 8): True, (EXACT | 1 << 8): False, (TORN | 1 << 8): False}
    assert {value: trial.want.hit(0, value) for value in wants} == wants
    assert not trial.want.unsound  # a mixture is as late as the old bytes


@pytest.mark.parametrize("after", ["close", "fsync", "fdatasync", "write"])
def test_growth_counts_from_the_call_that_is_asked_for(after: str) -> None:
    cell = make_cell("size.grow", "a-b", state="known", observer="stat", age="fresh", after=after)
    trial = grow_trial(cell, 0, "w/0", "salt")
    assert trial.change[trial.moment].kind == after
    assert (trial.change[-1].kind == "close") == (after == "close")
