"""From trial results to observations: lo convicts, hi acquits, disturbed trials say nothing."""

from __future__ import annotations

import errno
from dataclasses import replace

from fsconform.probes.cures import cure_trials, shot_trials
from fsconform.probes.latency import as_program, measure, observe
from fsconform.probes.visibility import make_trial
from fsconform.vocabulary.cells import make_cell
from fsconform.vocabulary.observations import INF_NS
from fsconform.vocabulary.trials import Trial, TrialResult

MS = 1_000_000
CELL = make_cell("visibility.create", "a-b", publish="rename", state="missed", observer="stat", age="fresh")


def trial(number: int = 0, label: str = "watch") -> Trial:
    return replace(make_trial(CELL, number, f"w0/{number}", "salt"), label=label)


def result(**fields: object) -> TrialResult:
    """Primed at 0-1 ms, changed at 2-3 ms, seen at 8 ms, last missed at 7 ms."""
    base = TrialResult(
        trial(), 2 * MS, 3 * MS, 0, 0, 1 * MS, errno.ENOENT, 0, 7 * MS, 8 * MS, 9 * MS, 5, 0, 1000,
    )  # fmt: skip
    return replace(base, **fields)  # type: ignore[arg-type]


def test_the_interval_lies_between_the_last_miss_and_the_first_hit() -> None:
    interval = measure(result())
    assert interval is not None
    assert (interval.lo, interval.hi) == (4 * MS, 5 * MS)
    assert (interval.since_prime_lo, interval.since_prime_hi) == (6 * MS, 8 * MS)


def test_the_clock_error_is_on_the_safe_side_of_both() -> None:
    interval = measure(result(error_ns=2 * MS))
    assert interval is not None
    assert (interval.lo, interval.hi) == (2 * MS, 7 * MS)


def test_a_miss_that_began_before_the_change_returned_convicts_nobody() -> None:
    seen = observe([result(last_miss=2 * MS + 1, first_hit=4 * MS)])
    assert (seen.violations, seen.informative) == (0, 1)


def test_a_look_after_the_change_that_missed_convicts() -> None:
    seen = observe([result()])
    assert seen.violations == 1
    assert seen.witness is not None
    assert "0.004000 s later still missed it" in seen.witness.story


def test_never_seen_is_infinite() -> None:
    seen = observe([result(first_hit=None, last_miss=9 * MS)])
    assert seen.latency[0].hi == INF_NS
    assert seen.outcomes == {"never seen": 1}


def test_a_trial_without_a_look_after_the_change_says_nothing() -> None:
    seen = observe([result(last_look=3 * MS, last_miss=None, first_hit=None)])
    assert (seen.informative, seen.attempted) == (0, 1)


def test_a_lost_prime_belongs_to_another_cell() -> None:
    late = result(prime_returned=2 * MS + 1)
    already = result(prime_errno=0)
    seen = observe([late, already])
    assert (seen.informative, seen.attempted, seen.violations) == (0, 2, 0)
    assert seen.outcomes == {"prime too late": 1, "prime already saw the change": 1}


def test_a_refused_change_is_told_as_such() -> None:
    seen = observe([result(change_errno=errno.EPERM)] * 3)
    assert (seen.refused, seen.informative) == ("EPERM", 0)


def test_a_lost_worker_is_the_reason() -> None:
    seen = observe([result(lost="worker 3 hung")])
    assert seen.informative == 0
    assert "worker 3 hung" in seen.reason


def test_flickers_are_told() -> None:
    assert observe([result(flickers=1)]).outcomes == {"seen, then unseen again": 1}


def test_other_errno_are_told_apart_from_misses() -> None:
    seen = observe([result(last_miss=None, first_hit=None, others=((errno.EIO, 4),))])
    assert seen.violations == 0
    assert seen.outcomes == {"never seen, EIO": 1}


def test_cures_stand_beside_their_controls() -> None:
    trials = cure_trials(trial, 0)
    results = [
        result(trial=one, last_miss=None if one.label == "cure open" else 7 * MS,
               first_hit=8 * MS if one.label == "cure open" else None)
        for one in trials
    ]  # fmt: skip
    cures = {cure.name: cure for cure in observe(results).cures}
    assert set(cures) == {"open", "fresh-listing", "statx-force-sync"}
    assert (cures["open"].cured, cures["open"].trials) == (4, 4)
    assert cures["fresh-listing"].cured == 0
    assert (cures["open"].control_visible, cures["open"].control_trials) == (0, 4)
    assert all(cure.read_only for cure in cures.values())
    assert observe(results).attempted == 0, "cured names are no trials of the cell"


def test_single_shots_are_counted_by_delay() -> None:
    trials = shot_trials(trial, 0, 0.1)
    results = [
        result(trial=one, last_miss=7 * MS if one.label == "shot 0.001" else None,
               first_hit=None if one.label == "shot 0.001" else 8 * MS)
        for one in trials
    ]  # fmt: skip
    assert observe(results).single_shot == {"0.001": (0, 4), "0.01": (4, 4), "0.1": (4, 4)}


def test_a_trial_can_be_replayed_as_a_program() -> None:
    program = as_program(trial())
    kinds = [[step.kind for step in lane.steps] for lane in program.lanes]
    assert kinds[0][-4:] == ["barrier", "barrier", "rename", "barrier"]
    assert kinds[1] == ["barrier", "stat", "barrier", "barrier", "stat"]
