"""What n independent trials prove about a rate and about a quantile. No approximations, no SciPy.

The unit is the informative trial (fresh name, fresh directory), never a poll or an operation.
"""

from __future__ import annotations

import math

LEVEL = 0.95
_TINY = 1e-300


def upper_bound(trials: int, level: float = LEVEL) -> float:
    """One-sided upper bound of a rate of which 0 of `trials` were seen: 1 - (1 - level)**(1/n); 1 for no trial."""
    return 1.0 - (1.0 - level) ** (1.0 / trials) if trials else 1.0


def clopper_pearson(count: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """The exact two-sided interval of a rate of which `count` of `trials` were seen (Clopper & Pearson 1934).

    Its ends are quantiles of beta distributions. (0, 1) for no trial. Raises ValueError unless 0 <= count <= trials.
    """
    if not 0 <= count <= trials:
        raise ValueError(f"{count} of {trials}")
    if trials == 0:
        return 0.0, 1.0
    tail = (1.0 - level) / 2
    lower = 0.0 if count == 0 else _beta_quantile(tail, count, trials - count + 1)
    upper = 1.0 if count == trials else _beta_quantile(1.0 - tail, count + 1, trials - count)
    return lower, upper


def rate_interval(count: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """What a report states of a rate: one-sided from 0 where none was seen, Clopper-Pearson else."""
    return (0.0, upper_bound(trials, level)) if count == 0 else clopper_pearson(count, trials, level)


def rate_text(count: int, trials: int) -> str:
    """`0 of 12,000 (< 0.025 % at 95 %)`, `37 of 200 (13.4-24.6 %)`."""
    told = f"{count:,} of {trials:,}"
    if not trials:
        return told
    lower, upper = rate_interval(count, trials)
    if count == 0:
        return f"{told} (< {_percent_above(upper)} % at 95 %)"
    return f"{told} ({_percent(lower)}-{_percent(upper)} %)"


def trials_for_quantile(quantile: float, level: float = LEVEL) -> int:
    """How many trials it takes until their maximum covers a quantile with confidence `level`: 1 - q**n >= level.

    299 for p99, 59 for p95. A quantile is not printed from fewer.
    """
    return math.ceil(math.log(1.0 - level) / math.log(quantile))


def quantile_of(ordered: list[int], quantile: float) -> int:
    """The order statistic of rank ceil(q n) of sorted values (no interpolation: a never-seen stays never)."""
    return ordered[max(0, math.ceil(quantile * len(ordered)) - 1)]


def _percent(rate: float) -> str:
    percent = rate * 100
    if percent == 0 or percent >= 99.95:
        return f"{percent:.0f}"
    return f"{percent:.1f}" if percent >= 1 else f"{percent:.2g}"


def _percent_above(rate: float) -> str:
    """Two significant digits, rounded up: an upper bound must stay one."""
    percent = rate * 100
    if percent >= 10:
        return f"{math.ceil(percent - 1e-9)}"
    scale = 10.0 ** (1 - math.floor(math.log10(percent)))
    return f"{math.ceil(percent * scale - 1e-9) / scale:.2g}"


def _beta_quantile(probability: float, a: float, b: float) -> float:
    """x with I_x(a, b) = probability, by bisection (I is increasing in x) down to neighbouring floats."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high) or high - low < 1e-15 * high:
            return middle
        if _beta_cdf(middle, a, b) < probability:
            low = middle
        else:
            high = middle


def _beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b) by its continued fraction (NIST DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1.0 - _beta_cdf(1.0 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """1/(1 + d1/(1 + d2/(1 + ...))) by the modified Lentz algorithm (Thompson & Barnett 1986)."""
    c = 1.0
    value = d = 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1))
    for m in range(1, 1_000_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _away_from_zero(1.0 + numerator * d)
            c = _away_from_zero(1.0 + numerator / c)
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-15:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
