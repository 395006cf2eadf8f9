"""The observer's bookkeeping: extrema of scripted looks agree with their definition."""

from __future__ import annotations

import errno
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconform.fleet.worker import barrier, observing, steps
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Want

MISS, HIT, OTHER = (errno.ENOENT, 0), (0, 5), (errno.EIO, 0)
STALE = (0, 4)
"""Succeeded, but not with the value that is wanted: a miss."""
TORN = (0, 0x105)
"""Succeeded with something that is neither the old value nor the new one."""


class Clock:
    """10 ns between two stamps."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 10
        return self.now


def subject_with(script: list[tuple[int, int]], until_ns: int, give_up_ns: int) -> observing.Subject:
    """A trial whose looks give what the script says."""
    meeting = barrier.Meeting(barrier.Place(barrier.REGION_WORDS, 0, 1, 0, 5.0))
    wire = (Step("stat", "x").to_wire(), (0, 0x1FF, 5, 0x100), (), (), (), (), 0, until_ns, give_up_ns, -1)
    subject = observing.Subject(0, wire, meeting)
    results = iter(script)

    def call() -> Any:
        number, value = next(results)
        if number:
            raise OSError(number, "")
        return value

    subject._look = steps.Compiled(call, lambda value: (value, 77), steps.LOOK)
    return subject


@given(st.lists(st.sampled_from([MISS, HIT, OTHER, STALE, TORN]), min_size=1, max_size=12))
def test_extrema(script: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observing, "_clock", Clock())
        subject = subject_with(script, 10**9, 10**9)
        subject.changed(0)
        for _ in script:
            subject.look()
    want = Want(0, 0x1FF, 5, 0x100)
    kinds = ["hit" if want.hit(*look) else "miss" if look in (MISS, STALE) else "other" for look in script]
    invoked = [10 + 20 * place for place in range(len(script))]
    misses = [place for place, kind in enumerate(kinds) if kind == "miss"]
    last_miss = misses[-1] if misses else -1
    hits = [place for place, kind in enumerate(kinds) if kind == "hit" and place > last_miss]
    assert subject.last_miss == (invoked[last_miss] if misses else observing.NONE)
    assert subject.first_hit == (invoked[hits[0]] if hits else observing.NONE)
    assert (subject.last_look, subject.looks) == (invoked[-1], len(script))
    plain = [kind for kind in kinds if kind != "other"]
    assert subject.flickers == sum(pair == ("hit", "miss") for pair in pairwise(plain))
    neither = {errno.EIO: script.count(OTHER), 0: script.count(TORN)}
    assert subject.others == {code: count for code, count in neither.items() if count}
    deciding = script[hits[0]] if hits else script[-1]
    assert subject.value == deciding[1]
    assert subject.longest_fill == 10


def look_at(subject: observing.Subject, clock: Clock, now: int) -> tuple[bool, int]:
    """Look at a given time; (over, when the next look is due)."""
    clock.now = now - 10
    subject.look()
    return subject.over, subject.due


def test_a_trial_is_over_by_its_times() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observing, "_clock", clock := Clock())
        subject = subject_with([MISS, MISS, MISS, HIT], 100, 10_000)
        subject.changed(0)
        assert look_at(subject, clock, 50) == (False, 50)
        assert look_at(subject, clock, 500) == (False, 501), "a miss is looked at until it is given up"
        assert look_at(subject, clock, 512) == (False, 514), "the longer it was missing, the less often"
        assert look_at(subject, clock, 600)[0], "a hit after its time needs no further look"
        subject = subject_with([MISS], 100, 10_000)
        subject.changed(0)
        assert look_at(subject, clock, 10_000)[0], "given up"


def test_a_hit_is_looked_at_soon_again_and_then_sparsely_until_its_time_has_passed() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observing, "_clock", clock := Clock())
        subject = subject_with([HIT] * 4, 2 * observing.SPARSE_NS, 10 * observing.SPARSE_NS)
        subject.changed(1000)
        assert look_at(subject, clock, 1000) == (False, 0)
        assert look_at(subject, clock, 2000) == (False, 2000 + observing.SPARSE_NS)
        end = 1000 + 2 * observing.SPARSE_NS
        assert look_at(subject, clock, 2000 + observing.SPARSE_NS) == (False, end), "one look when its time has passed"
        assert look_at(subject, clock, end)[0]


def test_the_longest_look_counts_up_to_the_first_hit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        times = iter([0, 10, 20, 70, 100, 900])
        patch.setattr(observing, "_clock", lambda: next(times))
        subject = subject_with([MISS, HIT, HIT], 10**9, 10**9)
        for _ in range(3):
            subject.look()
        assert subject.longest_fill == 50
