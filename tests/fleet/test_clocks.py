"""Clocks that are off, drift or lie: what is told of their offset holds, or nothing is told."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconform.fleet.alignment import align
from fsconform.fleet.clocks import EXACT, Clock, Envelope
from fsconform.fleet.trials import _on_our_clock
from fsconform.judging.judgement import judge
from fsconform.probes.latency import WATCH, measure, observe
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.histories import INF, UNKNOWN_ERROR, LaneColumns, RoundHistory
from fsconform.vocabulary.programs import Lane, Program
from fsconform.vocabulary.promises import Bound, BoundOrigin, Evidence, Promise, Strength
from fsconform.vocabulary.steps import Step
from fsconform.vocabulary.trials import Trial, TrialResult, Want
from fsconform.vocabulary.verdicts import Verdict

MS = 1_000_000
S = 1000 * MS
CELL = make_cell("visibility.create", "a-b", publish="rename", state="missed", observer="stat", age="fresh")


@dataclass
class FakeClock:
    """A clock that is `skew` ns off and whose rate changes every second by up to 500 ppm."""

    skew: int
    seed: int

    def __post_init__(self) -> None:
        rates = random.Random(self.seed)
        self._rates = [rates.uniform(-450e-6, 450e-6) for _ in range(200)]

    def read(self, true: int) -> int:
        """What it shows at a time of ours."""
        seconds, rest = divmod(true, S)
        drift = sum(self._rates[:seconds]) * S + self._rates[seconds] * rest
        return true + self.skew + round(drift)


clocks = st.builds(FakeClock, st.integers(0, 10**16), st.integers(0, 1 << 30))


def compare(fake: FakeClock, seed: int, count: int = 40, span: int = 100 * S, name: str = "site b") -> Clock:
    """A clock as random exchanges show it; delays from 20 us to 100 ms, as unlike there and back as can be."""
    clock, chance = Clock(name), random.Random(seed)
    for sent in sorted(chance.randrange(span) for _ in range(count)):
        heard = sent + int(10 ** chance.uniform(4.3, 8))
        back = heard + int(10 ** chance.uniform(4.3, 8))
        clock.sent_to(sent, fake.read(heard))
        clock.came_from(fake.read(heard), back)
    return clock


@given(clocks, st.integers(0, 1 << 30), st.lists(st.integers(0, 150 * S), min_size=1, max_size=9))
def test_the_offset_lies_where_it_is_said_to_lie(fake: FakeClock, seed: int, moments: list[int]) -> None:
    clock = compare(fake, seed)
    there = np.array([fake.read(moment) for moment in moments], dtype=np.int64)
    truth = np.array(moments, dtype=np.int64) - there
    least, most = clock.interval(there)
    assert (least <= truth).all() and (truth <= most).all()
    shift = clock.shift(there)
    assert not shift.fault
    assert (np.abs(shift.of_all(there) - np.array(moments)) <= shift.error).all()


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(-(10**9), 10**9)), min_size=1), st.integers(0, 10**9))
def test_what_is_not_kept_was_implied(bounds: list[tuple[int, int]], time: int) -> None:
    bounds.sort()
    plain = min(bound - (-abs(time - at) // 2000) * 1 for at, bound in bounds)
    kept = Envelope(bounds)
    assert abs(int(kept.bounds(np.array([time]))[0]) - plain) <= 2, "up to rounding"
    assert len(kept) <= len(bounds)


def test_bounds_weaken_by_500_ppm() -> None:
    clock = Clock("site b")
    clock.sent_to(1 * S, 1 * S + 5 * MS)
    clock.came_from(1 * S + 5 * MS, 1 * S + MS)
    at = 1 * S + 5 * MS
    assert clock.shift(np.array([at])).error == MS // 2 + 2, "rounding is on the safe side"
    assert clock.shift(np.array([at + 10 * S])).error == MS // 2 + 5 * MS + 2
    assert clock.zero() == (-5 * MS - 2, -4 * MS + 2)


def test_a_clock_that_jumps_is_broken_and_one_never_heard_of_unknown() -> None:
    clock = Clock("site b")
    for sent, skew in ((1 * S, 0), (2 * S, 50 * MS)):
        clock.sent_to(sent, sent + skew)
        clock.came_from(sent + skew, sent + MS)
    shift = clock.shift(np.array([2 * S]))
    assert shift.error == UNKNOWN_ERROR and "site b is broken" in shift.fault and "500 ppm" in shift.fault
    assert "not known" in Clock("site c").shift(np.array([5])).fault
    assert Clock("us", exact=True).shift(np.array([5])) == EXACT


def test_what_did_not_happen_is_not_moved() -> None:
    shift = compare(FakeClock(10**12, 1), 1).shift(np.array([10**12]))
    moved = shift.of_all(np.array([-1, INF, 10**12]))
    assert moved[0] == -1 and moved[1] == INF and abs(moved[2]) < S
    assert (shift.of(-1), shift.of(INF)) == (-1, INF)


# ---------------------------------------------------------------------- trials


def trial_result(change: int, last_miss: int | None, first_hit: int | None, last: int) -> TrialResult:
    trial = Trial(CELL, 0, Step("stat", "x"), Want(), (Step("rename", "t", "x"),), label=WATCH)
    return TrialResult(trial, change - 1000, change, 0, None, None, 0, 0, last_miss, first_hit, last, 9, 0, 0)


@given(clocks, clocks, st.integers(0, 1 << 30), st.integers(0, 6 * S), st.integers(1, S))
def test_clocks_never_move_a_bound_to_the_wrong_side(
    acting: FakeClock, observing: FakeClock, seed: int, late: int, gap: int
) -> None:
    change = 50 * S
    miss, hit, last = change + late, change + late + gap, change + late + gap + 10 * S
    seen = _on_our_clock(
        trial_result(acting.read(change), *(observing.read(t) for t in (miss, hit, last))),
        compare(acting, seed, name="site a"), compare(observing, seed + 1),
    )  # fmt: skip
    interval = measure(seen)
    assert interval is not None and not seen.clock_fault
    assert interval.lo <= late and interval.hi >= late + gap
    assert interval.lo >= late - 2 * seen.error_ns - 2 and interval.hi <= late + gap + 2 * seen.error_ns + 2


def test_trials_of_one_distant_clock_have_no_error() -> None:
    fake = FakeClock(10**14, 3)
    clock = compare(fake, 3)
    result = _on_our_clock(trial_result(*(fake.read(50 * S + k) for k in (0, MS, 2 * MS, 3 * MS))), clock, clock)
    assert result.error_ns == 0 and result.change_returned is not None and result.last_miss is not None
    assert abs(result.last_miss - result.change_returned - MS) < 1000


def observed(late: int, error: int, fault: str = "", count: int = 60) -> Verdict:
    """The verdict on `within 1 s` where the last miss came `late` ns after the change, and the hit 1 ms after that."""
    promise = Promise(Strength.WITHIN, Evidence.DERIVED, "test", Bound("miss", 1.0, BoundOrigin.COMPUTED))
    result = trial_result(50 * S, 50 * S + late, 50 * S + late + MS, 70 * S)
    results = [_with(result, error, fault)] * count
    seen = observe(results)
    assert not fault or fault in seen.reason
    return judge(promise, seen, "quick").verdict


def _with(result: TrialResult, error: int, fault: str) -> TrialResult:
    return replace(result, error_ns=error, clock_fault=fault)


def test_a_wide_interval_decides_nothing_and_a_narrow_one_everything() -> None:
    assert observed(900 * MS, MS) is Verdict.KEPT
    assert observed(1500 * MS, MS) is Verdict.VIOLATED
    assert observed(900 * MS, 500 * MS) is Verdict.INCONCLUSIVE
    assert observed(1500 * MS, 600 * MS) is Verdict.INCONCLUSIVE
    assert observed(1500 * MS, UNKNOWN_ERROR, "the clock of site b is broken") is Verdict.INCONCLUSIVE


# ---------------------------------------------------------------------- rounds


def history(intervals: list[list[tuple[int, int]]], errors: tuple[int, ...], numbers: tuple[int, ...]) -> RoundHistory:
    """One step per lane; `intervals[lane][round]`."""
    lanes = []
    for own in intervals:
        invoked, returned = (np.array([[pair[k]] for pair in own], dtype=np.int64) for k in (0, 1))
        zero = np.zeros_like(invoked)
        lanes.append(LaneColumns(invoked, returned, zero, zero, zero))
    program = Program(tuple(Lane(letter, (Step("stat", "x"),)) for letter in "abc"[: len(lanes)]))
    return RoundHistory(program, tuple(lanes), errors, {}, numbers)


pairs = st.tuples(st.integers(40 * S, 41 * S), st.integers(0, 200 * MS)).map(lambda p: (p[0], p[0] + p[1]))


@settings(max_examples=40)
@given(st.lists(st.tuples(pairs, pairs, pairs), min_size=1, max_size=8), clocks, st.integers(0, 1 << 30))
def test_axes_prove_only_what_is_true(rounds: list[tuple[tuple[int, int], ...]], fake: FakeClock, seed: int) -> None:
    """Lane a is ours; b and c are two workers of one distant host."""
    clock = compare(fake, seed, count=150)
    stamps = [[[fake.read(t) if lane else t for t in events[lane]] for events in rounds] for lane in range(3)]
    shift = clock.shift(np.array([t for lane in stamps[1:] for pair in lane for t in pair], dtype=np.int64))
    moved = [
        [(s.of(pair[0]), s.of(pair[1])) for pair in lane] for lane, s in zip(stamps, (EXACT, shift, shift), strict=True)
    ]
    seen = history(moved, (0, shift.error, shift.error), (0, 1, 1))
    for axis in seen.widenings():
        for k, events in enumerate(rounds):
            for a in range(3):
                for b in range(3):
                    if axis.lanes[a].returned[k, 0] < axis.lanes[b].invoked[k, 0]:
                        assert events[a][1] < events[b][0], "an order that the clocks do not prove"
    for axis in seen.narrowings():
        for k, events in enumerate(rounds):
            if axis.lanes[0].invoked[k, 0] <= axis.lanes[1].returned[k, 0] and (
                axis.lanes[1].invoked[k, 0] <= axis.lanes[0].returned[k, 0]
            ):
                assert events[0][0] <= events[1][1] and events[1][0] <= events[0][1], "an overlap that is none"


def test_the_axis_of_a_host_keeps_its_own_order_exact() -> None:
    seen = history([[(0, 10)], [(20, 30)], [(40, 50)]], (0, 100, 100), (0, 1, 1))
    assert seen.error_between(1, 2).tolist() == [0] and seen.error_between(0, 1).tolist() == [100]
    proven = [axis.lanes[1].returned[0, 0] < axis.lanes[2].invoked[0, 0] for axis in seen.widenings()]
    assert any(proven), "on their own axis both lanes of one clock are exact"
    assert not any(axis.lanes[0].returned[0, 0] < axis.lanes[1].invoked[0, 0] for axis in seen.widenings())
    alone = history([[(0, 10)], [(20, INF)]], (0, 0), ())
    assert len(alone.widenings()) == 1 and alone.widenings()[0].lanes[1].returned[0, 0] == INF
    assert alone.error_between(0, 1).tolist() == [0]


@given(clocks, clocks, clocks, st.integers(0, 1 << 30))
def test_offsets_between_three_sites_close(a: FakeClock, b: FakeClock, c: FakeClock, seed: int) -> None:
    """Around the mesh a -> b -> c -> a the intervals of the differences hold 0: all come from one axis."""
    moment = 60 * S
    intervals = []
    for number, fake in enumerate((a, b, c)):
        least, most = compare(fake, seed + number).interval(np.array([fake.read(moment)], dtype=np.int64))
        intervals.append((int(least[0]), int(most[0])))
    around = [
        (intervals[k][0] - intervals[(k + 1) % 3][1], intervals[k][1] - intervals[(k + 1) % 3][0]) for k in range(3)
    ]
    assert sum(low for low, _ in around) <= 0 <= sum(high for _, high in around)


# ---------------------------------------------------------------------- barriers

BARRIERS = Program(tuple(Lane(letter, (Step("barrier"), Step("stat", "x"), Step("barrier"))) for letter in "ab"))


def passed_together(fakes: tuple[FakeClock, FakeClock], seed: int, rounds: int = 20) -> tuple[LaneColumns, ...]:
    """What two lanes stamp that pass two barriers per round and look once in between; true times 40 s to 41 s."""
    chance, now = random.Random(seed), 40 * S
    stamps: tuple[list[list[int]], ...] = ([], [])
    for _ in range(rounds):
        rows: list[list[int]] = [[], []]
        for _ in range(2):
            came = [now + chance.randrange(MS) for _ in range(2)]
            left = [max(came) + chance.randrange(MS // 20) for _ in range(2)]
            for lane in range(2):
                rows[lane] += [came[lane], left[lane]]
            now = max(left) + MS
        for lane in range(2):
            first_came, first_left, second_came, second_left = rows[lane]
            stamps[lane].append(
                [first_came, first_left, first_left + 1, first_left + MS // 2, second_came, second_left]
            )
    lanes = []
    for fake, own in zip(fakes, stamps, strict=True):
        table = np.array([[fake.read(time) for time in row] for row in own], dtype=np.int64)
        zero = np.zeros((rounds, 3), dtype=np.int64)
        lanes.append(LaneColumns(table[:, 0::2], table[:, 1::2], zero, zero, zero))
    return tuple(lanes)


@settings(max_examples=40)
@given(clocks, clocks, st.integers(0, 1 << 30))
def test_barriers_tell_clocks_apart_and_agree_with_messages(a: FakeClock, b: FakeClock, seed: int) -> None:
    lanes = passed_together((a, b), seed)
    pair = (compare(a, seed, name="site a"), compare(b, seed + 1))
    found = align(BARRIERS, lanes, pair)
    assert (found.fault, found.clocks) == ("", (0, 1))
    assert not found.errors[0].any() and (found.errors[1] < 2 * MS).all(), "closer than messages of up to 100 ms"
    honest = FakeClock(0, 0)
    honest._rates = [0.0] * 200
    true = passed_together((honest, honest), seed)
    apart = found.lanes[1].invoked - found.lanes[0].invoked
    off = apart - (true[1].invoked - true[0].invoked)
    assert (np.abs(off) <= found.errors[1][:, None] + MS // 1000).all()


def test_barriers_alone_are_enough_and_a_contradiction_is_told() -> None:
    fakes = (FakeClock(0, 1), FakeClock(10**13, 2))
    lanes = passed_together(fakes, 7)
    found = align(BARRIERS, lanes, (Clock("site a"), Clock("site b")))
    assert found.fault == "" and 0 < found.errors[1].max() < 2 * MS
    lying = Clock("site b")
    lying.sent_to(40 * S, 40 * S)
    lying.came_from(40 * S, 40 * S)
    found = align(BARRIERS, lanes, (Clock("site a", exact=True), lying))
    assert "site a and site b are broken" in found.fault and (found.errors[1] == UNKNOWN_ERROR).all()
    without = Program(tuple(Lane(letter, (Step("stat", "x"),) * 3) for letter in "ab"))
    found = align(without, lanes, (Clock("site a", exact=True), Clock("site b")))
    assert "site b is not known" in found.fault
