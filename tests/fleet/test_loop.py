"""The loop: stamps in order, looks with a stamp of their own, descriptors that do not leak."""

from __future__ import annotations

import errno
import os
import time
from typing import Any

import pytest

from fsconform.fleet.worker import barrier, loop, steps
from fsconform.fleet.worker.descriptors import EMPTY, EmptySlot, Refusal, Slots
from fsconform.vocabulary import errnos
from fsconform.vocabulary.errnos import NOT_RUN
from fsconform.vocabulary.histories import INF
from fsconform.vocabulary.steps import Step


def score(*wanted: Step) -> loop.Score:
    return loop.Score([step.to_wire() for step in wanted], Slots())


def events(score: loop.Score) -> list[tuple[int, int, int, int, int]]:
    score.perform()
    return score.events()


def events_from(score: loop.Score, results: list[Any]) -> list[tuple[int, int, int, int, int]]:
    score.results[:] = results
    return score.events()


@pytest.mark.parametrize("in_c", [True, False])
def test_results_in_order_with_exceptions_between(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(loop, "_call", None)

    def fail(error: Exception) -> Any:
        raise error

    out: list[Any] = []
    loop.perform([lambda: 1, lambda: fail(OSError(5, "x")), lambda: 2, lambda: fail(EmptySlot()), lambda: None], out)
    assert (out[0], out[2], out[4]) == (1, 2, None)
    assert type(out[1]) is Refusal and out[1].errno == 5 and out[3] is EMPTY
    with pytest.raises(RuntimeError):
        loop.perform([lambda: 1, lambda: fail(RuntimeError()), lambda: 2], out := [])
    assert out == [1]


def test_stamps_bracket_every_call(inside: str) -> None:
    before = time.monotonic_ns()
    seen = events(
        score(Step("excl_create", "x"), Step("close"), Step("stat", "x"), Step("unlink", "x"), Step("stat", "x"))
    )
    after = time.monotonic_ns()
    assert [event[2] for event in seen] == [0, 0, 0, 0, errno.ENOENT]
    stamps = [stamp for event in seen for stamp in event[:2]]
    assert [before, *stamps, after] == sorted([before, *stamps, after])


def test_a_look_is_stamped_at_its_own_invocation() -> None:
    """A stall between two steps must widen no look: its invoked stamp is taken right before its call."""
    made = score(Step("mkdir", "d"), Step("stat", "d"), Step("stat", "d"), Step("rmdir", "d"))
    clocks = [call is time.monotonic_ns for call in made.calls]
    #        mkdir        | stat             | stat             | rmdir
    assert clocks == [True, False, True, True, False, True, True, False, True, False, True]
    ticks = iter(range(100))
    results = [next(ticks) if clock else Refusal(1) for clock in clocks]
    assert [event[:2] for event in events_from(made, results)] == [(0, 1), (2, 3), (4, 5), (5, 6)]


def test_what_did_not_return_is_hung_and_what_follows_not_run() -> None:
    made = score(Step("stat", "/"), Step("unlink", "x"), Step("stat", "/"))
    status = os.stat("/")
    assert [event[:3] for event in events_from(made, [10, 11, status, 12])] == [
        (11, 12, 0), (12, INF, errnos.HUNG), (INF, INF, errnos.NOT_RUN),
    ]  # fmt: skip
    assert [event[2] for event in events_from(made, [10, 11])] == [errnos.HUNG, errnos.NOT_RUN, errnos.NOT_RUN]
    assert [event[2] for event in events_from(made, [])] == [errnos.NOT_RUN] * 3


def test_watch_carries_its_own_stamps() -> None:
    made = score(Step("watch", arg=1, then=Step("stat", "/")))
    watched = steps.Watched(50, 60, Refusal(errno.ENOENT))
    assert events_from(made, [1, 2, watched, 99]) == [(50, 60, errno.ENOENT, 0, 0)]


def test_rounds_leave_no_descriptor_open(root: str) -> None:
    program = [
        Step("create", "x"), Step("create", "y"), Step("open", "missing"), Step("create", "z", fd=63),
        Step("open_dir", fd=3), Step("close", fd=3),
    ]  # fmt: skip
    before = len(os.listdir("/proc/self/fd"))
    begun, columns, reason = loop.run_rounds(
        (128, 0, 1, 0, 5.0), f"{root}/base", ("sub/dir",), 20, [step.to_wire() for step in program]
    )
    assert (begun, reason) == (20, "")
    assert len(os.listdir("/proc/self/fd")) == before
    assert [len(column) for column in columns] == [20 * 6 * 8] * 5
    assert sorted(os.listdir(f"{root}/base/7")) == ["sub", "x", "y", "z"]


def test_descriptors_within_a_score_and_between_scores(inside: str) -> None:
    slots = Slots()

    def run(*wanted: Step) -> list[int]:
        made = loop.Score([step.to_wire() for step in wanted], slots)
        made.perform()
        return [event[2] for event in made.events()]

    write, close = Step("write", size=4, key="a" * 64), Step("close")
    assert run(Step("create", "x"), write, close, write, close) == [0, 0, 0, NOT_RUN, NOT_RUN]
    assert slots.table[0] is EMPTY
    assert run(Step("create", "x")) == [0], "left open for a later score"
    assert run(write, close, write) == [0, 0, NOT_RUN]
    assert run(Step("create", "x"), Step("create", "y"), write) == [0, 0, 0]
    assert len(slots.strays) == 1 and os.stat("y").st_size == 4
    assert run(Step("open", "none"), write) == [errno.ENOENT, NOT_RUN], "not into what the slot held before"
    assert len(slots.strays) == 2 and slots.table[0] is EMPTY
    slots.close_all()
    assert slots.strays == []


def test_closing_frees_the_slot_even_if_refused(inside: str) -> None:
    slots = Slots()
    made = loop.Score([Step("close").to_wire(), Step("close").to_wire()], slots)
    slots.table[0] = os.open("x", os.O_CREAT | os.O_WRONLY)
    os.close(slots.table[0])
    assert [event[2] for event in events(made)] == [errno.EBADF, NOT_RUN]


def test_what_an_ended_score_left_open_is_closed(inside: str) -> None:
    slots, words = Slots(), barrier.PAGE.words
    meeting = barrier.Meeting(barrier.Place(barrier.REGION_WORDS, 0, 1, words[0] - 1, 5.0))  # halted already
    wires = [
        step.to_wire() for step in (Step("create", "x"), Step("sleep", arg=10**9), Step("close"), Step("create", "y"))
    ]
    made = loop.Score(wires, slots, meeting)
    with pytest.raises(barrier.Aborted):
        made.perform()
    assert [event[2] for event in made.events()] == [0, NOT_RUN, NOT_RUN, NOT_RUN]
    assert type(slots.table[0]) is int
    slots.close_all()
