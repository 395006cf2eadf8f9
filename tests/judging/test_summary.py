from __future__ import annotations

from fsconform.judging.summary import summarise_latency
from fsconform.vocabulary.observations import LatencyTrial, Observation
from tests.judging.builders import MS, S, latency, rounds, trial


def test_nothing_to_summarise() -> None:
    assert summarise_latency(rounds(0, 5)) is None


def test_medians_and_maxima_of_both_ends() -> None:
    summary = summarise_latency(latency(trial(4 * S, 4 * S + MS), trial(5 * S, 5 * S + 3 * MS), trial(3 * S, 3 * S)))
    assert summary is not None
    told = summary.to_json()["since_change"]
    assert told["lo"] == {"p50": 4.0, "max": 5.0, "n": 3}
    assert told["hi"] == {"p50": 4.001, "max": 5.003, "n": 3}
    assert summary.resolution == 0.003
    assert (summary.never, summary.since_prime) == (0, None)


def test_what_was_never_seen_is_never_a_number() -> None:
    summary = summarise_latency(latency(trial(9 * S), trial(0, MS), trial(9 * S)))
    assert summary is not None
    assert summary.never == 2
    assert summary.since_change.hi.p50 is None
    assert summary.since_change.hi.max is None
    assert summary.since_change.lo.max == 9.0


def test_the_age_of_the_entry_only_of_primed_trials() -> None:
    primed = LatencyTrial(4 * S, 5 * S, 6 * S, since_prime_lo=4 * S + MS, since_prime_hi=5 * S + MS)
    summary = summarise_latency(latency(primed, trial(0, MS)))
    assert summary is not None
    assert summary.since_prime is not None
    assert summary.since_prime.lo.n == 1
    assert summary.since_prime.hi.max == 5.001


def test_p99_only_from_299_trials() -> None:
    few = summarise_latency(latency(*[trial(k, k + MS) for k in range(298)]))
    many = summarise_latency(latency(*[trial(k, k + MS) for k in range(299)]))
    assert few is not None
    assert many is not None
    assert "p99" not in few.to_json()["since_change"]["lo"]
    assert many.to_json()["since_change"]["lo"]["p99"] == 296e-9


def test_flickers_are_counted() -> None:
    flickering = LatencyTrial(S, 2 * S, 3 * S, flickers=2)
    summary = summarise_latency(Observation(1, 1, latency=(flickering,)))
    assert summary is not None
    assert summary.flickers == 2
