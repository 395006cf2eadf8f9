"""The loop: stamps in order, looks with a stamp of their own, descriptors that do not leak."""

from __future__ import annotations

import errno
import os
import time
from typing import Any

import pytest

from fsconform.fleet.worker import loop, steps
from fsconform.fleet.worker.descriptors import Descriptors, EmptySlot
from fsconform.vocabulary import errnos
from fsconform.vocabulary.histories import INF
from fsconform.vocabulary.steps import Step


def score(*wanted: Step) -> loop.Score:
    slots = Descriptors()
    return loop.Score([steps.compile_step(step.to_wire(), slots) for step in wanted])


def events(score: loop.Score) -> list[tuple[int, int, int, int, int]]:
    out: list[Any] = []
    loop.perform(score.calls, out)
    return score.events(out)


@pytest.mark.parametrize("in_c", [True, False])
def test_results_in_order_with_exceptions_between(in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not in_c:
        monkeypatch.setattr(loop, "_call", None)

    def fail(error: Exception) -> Any:
        raise error

    out: list[Any] = []
    loop.perform([lambda: 1, lambda: fail(OSError(5, "x")), lambda: 2, lambda: fail(EmptySlot(3)), lambda: None], out)
    assert (out[0], out[2], out[4]) == (1, 2, None)
    assert isinstance(out[1], OSError) and isinstance(out[3], EmptySlot)
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
    calls: list[str] = []
    mutation = steps.Compiled(lambda: calls.append("act"), lambda _: (0, 0), steps.MUTATION)
    look = steps.Compiled(lambda: calls.append("look"), lambda _: (0, 0), steps.LOOK)
    made = loop.Score([mutation, look, look, mutation])
    ticks = iter(range(100))
    out = [next(ticks) if call is time.monotonic_ns else call() for call in made.calls]
    assert [event[:2] for event in made.events(out)] == [(0, 1), (2, 3), (4, 5), (5, 6)]
    assert calls == ["act", "look", "look", "act"]


def test_what_did_not_return_is_hung_and_what_follows_not_run() -> None:
    made = score(Step("stat", "/"), Step("unlink", "x"), Step("stat", "/"))
    status = os.stat("/")
    assert [event[:3] for event in made.events([10, 11, status, 12])] == [
        (11, 12, 0), (12, INF, errnos.HUNG), (INF, INF, errnos.NOT_RUN),
    ]  # fmt: skip
    assert [event[2] for event in made.events([10, 11])] == [errnos.HUNG, errnos.NOT_RUN, errnos.NOT_RUN]
    assert [event[2] for event in made.events([])] == [errnos.NOT_RUN] * 3


def test_watch_carries_its_own_stamps() -> None:
    made = score(Step("watch", arg=1, then=Step("stat", "/")))
    watched = steps.Watched(50, 60, OSError(errno.ENOENT, ""))
    assert made.events([1, 2, watched, 99]) == [(50, 60, errno.ENOENT, 0, 0)]


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


def test_closing_frees_the_slot_even_if_refused(inside: str) -> None:
    slots = Descriptors()
    slots[0] = os.open("x", os.O_CREAT | os.O_WRONLY)
    os.close(slots[0])
    with pytest.raises(OSError):
        slots.close_slot(0)
    with pytest.raises(EmptySlot):
        slots.close_slot(0)
