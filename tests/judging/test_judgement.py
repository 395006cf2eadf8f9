from __future__ import annotations

import errno
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconform.judging.judgement import judge, slack_s, trials_needed
from fsconform.vocabulary.observations import INF_NS, LatencyTrial, Observation, Witness
from fsconform.vocabulary.promises import Promise, Strength
from fsconform.vocabulary.verdicts import Verdict
from tests.judging.builders import (
    GUARANTEED,
    MS,
    NOTHING,
    OPTIONAL,
    S,
    latency,
    plain,
    rounds,
    trial,
    unsupported,
    within,
)  # fmt: skip

KEPT, VIOLATED, OBSERVED = Verdict.KEPT, Verdict.VIOLATED, Verdict.OBSERVED
NOT_APPLICABLE, INCONCLUSIVE = Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE
BUDGETS = ("quick", "standard", "thorough", "90s")
PROMISES = (GUARANTEED, OPTIONAL, NOTHING, unsupported("EINVAL"), within(0.5), within(5), within(0), within(30, 0.1))


@pytest.mark.parametrize(
    ("budget", "guaranteed", "bounded"),
    [
        ("smoke", 60, 20),
        ("quick", 60, 20),
        ("standard", 300, 100),
        ("thorough", 3000, 1000),
        ("90s", 300, 100),
        ("8h", 300, 100),
    ],
)
def test_trials_that_kept_needs(budget: str, guaranteed: int, bounded: int) -> None:
    assert trials_needed(GUARANTEED, budget) == trials_needed(OPTIONAL, budget) == guaranteed
    assert trials_needed(within(5), budget) == bounded
    assert trials_needed(NOTHING, budget) == 0
    for promise, needed in ((GUARANTEED, guaranteed), (within(5), bounded)):
        assert judge(promise, latency(*[trial(0, MS)] * needed), budget).verdict is KEPT
        assert judge(promise, latency(*[trial(0, MS)] * (needed - 1)), budget).verdict is INCONCLUSIVE
        assert judge(promise, rounds(0, needed), budget).verdict is KEPT
        assert judge(promise, rounds(0, needed - 1), budget).verdict is INCONCLUSIVE


def test_slack_is_ticks_and_fill_and_one_percent_or_what_the_profile_says() -> None:
    assert slack_s(within(5), 30 * MS) == pytest.approx(0.02 + 0.03 + 0.05)
    assert slack_s(within(5, 1.5), 30 * MS) == 1.5
    assert slack_s(GUARANTEED, 30 * MS) == slack_s(within(0), 30 * MS) == 0


# ---------------------------------------------------------------- guaranteed


def test_one_late_look_convicts_a_guarantee_whatever_the_number_of_trials() -> None:
    judgement = judge(GUARANTEED, latency(trial(1, MS)), "thorough")
    assert judgement.verdict is VIOLATED
    assert judgement.violations == 1


def test_the_delay_of_a_first_look_never_convicts_a_guarantee() -> None:
    judgement = judge(GUARANTEED, latency(*[trial(0, 20 * S)] * 60), "quick")
    assert judgement.verdict is KEPT
    assert "20.000 s" in judgement.reason


def test_a_trial_without_a_look_after_the_change_is_no_evidence() -> None:
    silent = LatencyTrial(0, INF_NS, 0)
    before = LatencyTrial(0, 0, -5)
    assert judge(GUARANTEED, latency(*[silent, before] * 100), "quick").verdict is INCONCLUSIVE


def test_rounds_that_break_a_guarantee_are_told_with_their_rate_and_story() -> None:
    seen = Observation(200, 200, 37, {"2 won": 37}, witness=Witness({}, (), "expected: one winner; got: two"))
    judgement = judge(GUARANTEED, seen, "quick")
    assert judgement.verdict is VIOLATED
    assert judgement.reason == "37 of 200 (13.4-24.6 %): expected: one winner; got: two"
    assert judge(GUARANTEED, rounds(0, 12_000), "thorough").reason == "0 of 12,000 (< 0.025 % at 95 %)"


def test_what_would_settle_too_few_trials_is_said() -> None:
    judgement = judge(GUARANTEED, Observation(100, 12, reason="88 rounds had no overlapping calls"), "quick")
    assert judgement.verdict is INCONCLUSIVE
    assert "12 informative trials of 100, 60 needed (88 rounds had no overlapping calls)" in judgement.reason
    assert "longer budget" in judgement.reason


# ---------------------------------------------------------------- within N s


def test_lo_convicts_and_hi_acquits_and_between_is_unresolved() -> None:
    limit = 5 * S + 70 * MS
    assert judge(within(5), latency(trial(limit + 1)), "quick").verdict is VIOLATED
    assert judge(within(5), latency(*[trial(limit, limit)] * 20), "quick").verdict is KEPT
    unresolved = judge(within(5), latency(*[trial(4 * S, limit + 1)] * 20), "quick")
    assert (unresolved.verdict, unresolved.unresolved) == (INCONCLUSIVE, 20)
    assert unresolved.reason.startswith("unresolved: ")


def test_unresolved_trials_do_not_matter_where_the_others_suffice() -> None:
    judgement = judge(within(5), latency(*[trial(4 * S, 5 * S)] * 20, trial(4 * S, 9 * S), trial(S)), "quick")
    assert judgement.verdict is KEPT
    assert judgement.unresolved == 2


def test_near_misses_are_counted() -> None:
    judgement = judge(within(5), latency(*[trial(5 * S + MS, 5 * S + 2 * MS)] * 20), "quick")
    assert (judgement.verdict, judgement.near_misses) == (KEPT, 20)
    assert "20 near misses" in judgement.reason
    assert judge(within(5), latency(*[trial(5 * S, 5 * S)] * 20), "quick").near_misses == 0


def test_the_longest_fill_widens_the_limit() -> None:
    late = trial(5 * S + 100 * MS, 5 * S + 101 * MS)
    assert judge(within(5), latency(*[late] * 20), "quick").verdict is VIOLATED
    assert judge(within(5), latency(*[late] * 20, fill=40 * MS), "quick").verdict is KEPT


def test_within_0_s_is_judged_as_a_guarantee() -> None:
    assert judge(within(0), latency(trial(1, MS)), "quick").verdict is VIOLATED
    assert judge(within(0), latency(*[trial(0, S)] * 20), "quick").verdict is KEPT
    assert judge(within(0), rounds(1, 100), "quick").verdict is VIOLATED


def test_rounds_measure_no_time() -> None:
    assert judge(within(5), rounds(3, 100), "quick").verdict is INCONCLUSIVE


# ---------------------------------------------------------------- support


def support(result: str, violations: int = 0) -> Observation:
    return Observation(10, 10, violations, refused=result)


@pytest.mark.parametrize(
    ("promise", "seen", "verdict"),
    [
        (GUARANTEED, support("works"), KEPT),
        (GUARANTEED, support("EINVAL"), VIOLATED),
        (GUARANTEED, support("works", 3), VIOLATED),
        (OPTIONAL, support("works"), KEPT),
        (OPTIONAL, support("EINVAL"), NOT_APPLICABLE),
        (OPTIONAL, support("works", 3), VIOLATED),
        (OPTIONAL, rounds(0, 100), KEPT),
        (unsupported("EINVAL"), support("EINVAL"), KEPT),
        (unsupported("EINVAL", "EPERM"), support("EPERM"), KEPT),
        (unsupported("EINVAL"), support("EPERM"), VIOLATED),
        (unsupported("EINVAL"), support("works"), OBSERVED),
        (unsupported("EINVAL"), support("works", 10), VIOLATED),
        (unsupported("EINVAL"), rounds(0, 100), OBSERVED),
        (unsupported("EINVAL"), rounds(7, 100), OBSERVED),
        (unsupported("EINVAL"), rounds(0, 0, 100), INCONCLUSIVE),
        (NOTHING, support("works"), OBSERVED),
        (NOTHING, support("EINVAL"), OBSERVED),
        (NOTHING, rounds(10, 10), OBSERVED),
        (NOTHING, rounds(0, 0, 10), OBSERVED),
        (NOTHING, latency(trial(9 * S)), OBSERVED),
        (within(5), rounds(0, 0, 100, "EINVAL"), NOT_APPLICABLE),
        (GUARANTEED, rounds(0, 0, 100, "EINVAL"), VIOLATED),
    ],
)
def test_refusals_and_support(promise: Promise, seen: Observation, verdict: Verdict) -> None:
    judgement = judge(promise, seen, "quick")
    assert judgement.verdict is verdict
    assert judgement.reason
    assert "\n" not in judgement.reason


@pytest.mark.parametrize("said", ["ENOTSUP", "EOPNOTSUPP"])
@pytest.mark.parametrize("got", ["ENOTSUP", "EOPNOTSUPP"])
def test_errnos_are_numbers(said: str, got: str) -> None:
    assert errno.ENOTSUP == errno.EOPNOTSUPP
    assert judge(unsupported(said), support(got), "quick").verdict is KEPT


@pytest.mark.parametrize("result", ["HUNG", "UNSUPPORTED_HERE", "LOST", "EIO", "ENOTCONN", "ENOSPC", "EACCES"])
@pytest.mark.parametrize("promise", [GUARANTEED, unsupported("EINVAL"), within(5)])
def test_a_failure_that_is_no_answer_convicts_nobody(result: str, promise: Promise) -> None:
    assert judge(promise, support(result), "quick").verdict is INCONCLUSIVE
    assert judge(OPTIONAL, support(result), "quick").verdict is NOT_APPLICABLE


def test_an_errno_that_the_profile_names_is_an_answer_whatever_its_kind() -> None:
    assert judge(unsupported("EACCES"), support("EACCES"), "quick").verdict is KEPT


def test_nothing_promised_tells_k_of_n() -> None:
    assert "37 of 200 (13.4-24.6 %)" in judge(NOTHING, rounds(37, 200), "quick").reason
    told = judge(NOTHING, latency(*[trial(30 * S, 31 * S)] * 3, trial(9 * S), trial(0, MS)), "quick").reason
    assert "4 of 5" in told
    assert "30.000 s" in told
    assert "never seen in 1" in told


# ---------------------------------------------------------------- for all observations

ENDS = st.integers(0, 8 * S)
TRIALS = st.tuples(ENDS, ENDS, st.booleans()).map(
    lambda ends: trial(min(ends[:2]), INF_NS if ends[2] else max(ends[:2]))
)
LATENCIES = st.builds(
    lambda trials, fill: latency(*trials, fill=fill, attempted=len(trials) + 5),
    st.lists(TRIALS, max_size=80), st.integers(0, 100 * MS),
)  # fmt: skip
ROUNDS = st.integers(0, 400).flatmap(lambda n: st.builds(rounds, st.integers(0, n), st.just(n), st.just(n + 5)))


@settings(deadline=None)
@given(st.sampled_from(PROMISES), LATENCIES | ROUNDS, st.sampled_from(BUDGETS))
def test_verdicts_rest_on_proof(promise: Promise, seen: Observation, budget: str) -> None:
    judgement = judge(promise, seen, budget)
    limit = (promise.bound_s + slack_s(promise, seen.longest_fill_ns)) * 1e9
    beyond = sum(one.lo > limit for one in seen.latency)
    if judgement.verdict is VIOLATED:
        assert beyond == judgement.violations > 0 or (not seen.latency and seen.violations)
    if beyond and promise.strength in (Strength.GUARANTEED, Strength.OPTIONAL, Strength.WITHIN):
        assert judgement.verdict is VIOLATED
    if judgement.verdict is KEPT:
        assert seen.informative >= trials_needed(promise, budget) > 0
    if promise.strength is Strength.NOT_PROMISED:
        assert judgement.verdict is OBSERVED
    assert judgement.reason
    assert "\n" not in judgement.reason


def watch(rng: random.Random, bound_ms: float, stall_ms: float) -> LatencyTrial:
    """One trial against a cache that keeps its bound to the millisecond, by a reader that is held up now and then.

    The change takes effect somewhere within its call; the entry was filled before that, and lives for the bound.
    """

    def pause() -> float:
        return rng.expovariate(1 / 0.02) + (rng.uniform(0, stall_ms) if rng.random() < 0.05 else 0)

    effect = rng.uniform(0, 1)
    returned = effect + rng.uniform(0, 1)
    filled = rng.uniform(effect - 1.5, effect)
    look, miss = returned + rng.uniform(0, 20), None
    while True:
        answered = look + pause()
        if answered >= filled + bound_ms:
            break
        miss, look = look, answered + pause() + 20
    lo = 0 if miss is None else int((miss - returned) * MS)
    return trial(max(0, lo), int((look - returned) * MS))


@pytest.mark.parametrize("stall_ms", [0, 1500])
def test_a_mount_that_keeps_its_bound_is_never_convicted(stall_ms: float) -> None:
    rng = random.Random(7)
    trials = [watch(rng, 1000, stall_ms) for _ in range(10_000)]
    judgement = judge(within(1), latency(*trials), "thorough")
    assert judgement.verdict is KEPT
    assert judgement.violations == 0
    assert (judgement.unresolved > 0) == (stall_ms > 0)


def test_a_mount_that_overruns_its_bound_by_more_than_the_slack_is_convicted() -> None:
    rng = random.Random(8)
    trials = [watch(rng, 1100, 0) for _ in range(200)]
    judgement = judge(within(1), latency(*trials), "quick")
    assert judgement.verdict is VIOLATED
    assert judgement.violations > 150


def test_optional_is_judged_as_guaranteed_once_it_works() -> None:
    assert judge(plain(Strength.OPTIONAL), rounds(1, 100), "quick").verdict is VIOLATED
    assert judge(plain(Strength.OPTIONAL), rounds(0, 10), "quick").verdict is INCONCLUSIVE
