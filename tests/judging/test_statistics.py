from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconform.judging.statistics import (
    clopper_pearson,
    quantile_of,
    rate_interval,
    rate_text,
    trials_for_quantile,
    upper_bound,
)


def binomial_tail(trials: int, at_least: int, rate: float) -> float:
    """P(X >= at_least), summed exactly."""
    return math.fsum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(at_least, trials + 1))


@settings(deadline=None)
@given(st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_interval_ends_are_where_the_binomial_tails_are_2_5_percent(case: tuple[int, int]) -> None:
    count, trials = case
    lower, upper = clopper_pearson(count, trials)
    assert 0 <= lower <= count / trials <= upper <= 1
    if count:
        assert binomial_tail(trials, count, lower) == pytest.approx(0.025, rel=1e-6)
    if count < trials:
        assert 1 - binomial_tail(trials, count + 1, upper) == pytest.approx(0.025, rel=1e-6)


@pytest.mark.parametrize(
    ("count", "trials", "lower", "upper"),
    [
        (1, 12_000, 2.1098151063611343e-06, 0.00046421518262843746),
        (37, 200, 0.13372866017976162, 0.24586346244867838),
        (3, 3_000, 0.0002062715371622571, 0.0029196164652532663),
        (1_500, 3_000, 0.48194876932698494, 0.5180512306730151),
        (199_999, 200_000, 0.9999721421014378, 0.9999998734109681),
        (100_000, 200_000, 0.4978062069460849, 0.5021937930539151),
        (7, 1_000_000, 2.81436753430222e-06, 1.4422621834331028e-05),
    ],
)
def test_interval_ends_are_the_beta_quantiles(count: int, trials: int, lower: float, upper: float) -> None:
    """Against scipy.stats.beta.ppf of SciPy 1.x."""
    assert clopper_pearson(count, trials) == pytest.approx((lower, upper), rel=1e-9)


def test_no_violation_in_n_trials() -> None:
    assert upper_bound(12_000) == pytest.approx(0.00024961, rel=1e-4)
    assert (1 - upper_bound(60)) ** 60 == pytest.approx(0.05)
    assert upper_bound(0) == 1
    assert rate_interval(0, 300)[0] == 0


@pytest.mark.parametrize(
    ("count", "trials", "text"),
    [
        (0, 12_000, "0 of 12,000 (< 0.025 % at 95 %)"),
        (37, 200, "37 of 200 (13.4-24.6 %)"),
        (0, 60, "0 of 60 (< 4.9 % at 95 %)"),
        (0, 20, "0 of 20 (< 14 % at 95 %)"),
        (0, 0, "0 of 0"),
        (5, 5, "5 of 5 (47.8-100 %)"),
        (1, 12_000, "1 of 12,000 (0.00021-0.046 %)"),
    ],
)
def test_rates_in_words(count: int, trials: int, text: str) -> None:
    assert rate_text(count, trials) == text


@settings(deadline=None)
@given(st.integers(1, 10_000_000))
def test_the_printed_upper_bound_is_never_below_the_true_one(trials: int) -> None:
    printed = float(rate_text(0, trials).partition("< ")[2].partition(" %")[0])
    assert printed >= upper_bound(trials) * 100 * (1 - 1e-6)


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="6 of 5"):
        clopper_pearson(6, 5)


def test_quantiles_need_trials() -> None:
    needed = {q: trials_for_quantile(q) for q in (0.95, 0.99, 0.999)}
    assert needed == {0.95: 59, 0.99: 299, 0.999: 2995}
    assert quantile_of([1, 2, 3, 4], 0.5) == 2
    assert quantile_of([7], 0.99) == 7
