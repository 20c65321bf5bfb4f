"""Means and shares with their 95 % intervals, where every seed is one observation.

The estimates are computed from sums by seed (`SeedSums`), which one query of a database can return. Both seats and all
tries of a seed share its problem, so they are one observation. `docs/comparing.md` has the formulas, and
`python -m bench.comparing` measures how often the intervals hold.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from gem.errors import InvalidArgument

Z95 = 1.959963984540054
"""The 97.5th percentile of the standard normal distribution."""
MIN_SEEDS = 10
"""With fewer seeds there is no interval: what is known of the spread is then too little."""
MIN_EXPANDED = 30
"""From this number of degrees of freedom on, Student's quantiles are computed by an expansion."""
SAME = 1e-9
"""Returns that differ by less are equal, because sums of the same rewards may differ in their last digit."""


class Interval(NamedTuple):
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean or a difference, with its 95 % interval if there is one."""

    mean: float
    low: float | None
    high: float | None
    seeds: int
    """The number of seeds behind it."""
    reason: str = ""
    """Why there is no interval, as a sentence; empty if there is one."""

    @property
    def interval(self) -> Interval | None:
        """The mean with its interval; None if there is none."""
        return None if self.low is None or self.high is None else Interval(self.mean, self.low, self.high)

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval and zero is not in it."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class SeedSums(NamedTuple):
    """The episodes of one environment and seed that count, in sums."""

    n: int
    """The number of episodes: seats times tries."""
    return_sum: float
    return_squares: float
    """The sum of the squared returns."""
    return_low: float
    """The lowest return."""
    return_high: float
    """The highest return."""
    solved: int
    """The number of episodes that were solved."""

    @classmethod
    def of(cls, returns: Sequence[float], solved: int = 0) -> SeedSums:
        """The sums of the returns of one seed; there is at least one."""
        squares = math.fsum(value * value for value in returns)
        return cls(len(returns), math.fsum(returns), squares, min(returns), max(returns), solved)


def estimate_return(seeds: Iterable[SeedSums]) -> Estimate:
    """Compute the mean return over all episodes, with a 95 % interval over seeds.

    If every return is 0 or 1, the mean is a share, and its interval is that of `estimate_share`. Otherwise it is
    `studentized`. Equal returns have no interval, because they tell nothing of the spread.

    Raises:
        InvalidArgument: if there are no episodes.
    """
    rows = _checked(seeds)
    n = sum(row.n for row in rows)
    mean = math.fsum(row.return_sum for row in rows) / n
    low, high = min(row.return_low for row in rows), max(row.return_high for row in rows)
    if len(rows) < MIN_SEEDS:
        return Estimate(mean, None, None, len(rows), few_reason(len(rows)))
    if high - low <= SAME * max(1.0, abs(low), abs(high)):
        return Estimate(mean, None, None, len(rows), equal_reason(len(rows), "returns"))
    squares = math.fsum(row.return_squares for row in rows)
    if low >= 0 and high <= 1 and squares >= mean * n - SAME * n:  # x² is below x between 0 and 1
        return estimate_share((row.n, row.return_sum) for row in rows)
    values = _linearized([(row.n, row.return_sum) for row in rows])
    spread = spread_of(values)
    if spread.error == 0:  # every seed has the same mean, with different returns in it
        return Estimate(mean, None, None, len(rows), equal_reason(len(rows), "mean returns"))
    return Estimate(mean, *studentized(mean, spread), len(rows))


def estimate_success(seeds: Iterable[SeedSums]) -> Estimate:
    """Compute the share of solved episodes, with a 95 % interval over seeds (see `estimate_share`).

    Raises:
        InvalidArgument: if there are no episodes.
    """
    return estimate_share((row.n, row.solved) for row in _checked(seeds))


def estimate_share(seeds: Iterable[tuple[int, float]]) -> Estimate:
    """Compute a share with Wilson's 95 % interval for the effective number of observations.

    Tries at one seed resemble one another. The effective number is the number of independent tries that would have the
    variance measured between the seeds; it is at most the number of tries. If all or none succeed, there is nothing to
    measure, and only the seeds count. With one try for each seed it is the number of seeds. The interval is Wilson's
    with the quantile of Student's t-distribution, with which it covers at least 94 % of shares between 0.2 and 0.8.
    (L. Kish, Survey Sampling, 1965; E. L. Korn and B. I. Graubard, Confidence intervals for proportions with small
    expected number of positive counts estimated from survey data, 1998, who correct for few seeds in this way.)

    Args:
        seeds: the number of tries and the number or sum of successes of each seed; a success may be partial.

    Raises:
        InvalidArgument: if there are no tries.
    """
    rows = [(n, successes) for n, successes in seeds if n]
    count, tries = len(rows), sum(n for n, _ in rows)
    if not tries:
        raise InvalidArgument("A share needs at least one episode.")
    share = math.fsum(successes for _, successes in rows) / tries
    if count < MIN_SEEDS:
        return Estimate(share, None, None, count, few_reason(count))
    effective, between = float(count), share * (1 - share)
    if between > SAME and (tries > count or any(0 < successes < n for n, successes in rows)):
        variance = spread_of(_linearized(rows)).error ** 2 * (count - 1) / count
        effective = min(tries, between / variance) if variance > 0 else tries
    effective *= (Z95 / student_quantile(count - 1)) ** 2
    return Estimate(share, *wilson(share * effective, effective)[1:], count)


def few_reason(seeds: int) -> str:
    """Say why few seeds have no interval."""
    noun = "1 seed says" if seeds == 1 else f"{seeds} seeds say"
    return f"No interval: {noun} too little of the spread; it takes {MIN_SEEDS}."


def equal_reason(seeds: int, what: str) -> str:
    """Say why equal values have no interval."""
    return f"No interval: the {what} of all {seeds:,} seeds are equal, so nothing is known of their spread."


# ------------------------------------------------------------------ the spread of a mean


class Spread(NamedTuple):
    """How a mean would vary if it were measured again on other seeds."""

    error: float
    """Its standard error."""
    skewness: float
    """The skewness of its distribution: that of the values, divided by the square root of their number."""
    freedom: float
    """The degrees of freedom of the standard error."""


def spread_of(values: Sequence[float]) -> Spread:
    """Compute the spread of the mean of at least two independent values."""
    n = len(values)
    mean = math.fsum(values) / n
    second = math.fsum((value - mean) ** 2 for value in values)
    if second <= (SAME * max(1.0, abs(mean))) ** 2 * n:
        return Spread(0.0, 0.0, n - 1)
    third = math.fsum((value - mean) ** 3 for value in values)
    return Spread(math.sqrt(second / (n - 1) / n), third / second**1.5, n - 1)


def studentized(mean: float, spread: Spread) -> tuple[float, float]:
    """Compute the ends of a 95 % interval; `error` is not 0.

    Each end is the outer one of two: Student's, and Student's corrected for skewness by P. Hall's transformation (On
    the removal of skewness by transformation, 1992), which does what a studentized bootstrap does, without resampling.
    The first is too short where returns are skewed, the second where few values differ from the others.
    """
    quantile = student_quantile(spread.freedom)
    below, above = _unskewed(quantile, spread.skewness), _unskewed(-quantile, spread.skewness)
    return mean - spread.error * max(quantile, below), mean + spread.error * max(quantile, -above)


def _unskewed(quantile: float, skewness: float) -> float:
    """Apply the inverse of Hall's transformation to a quantile."""
    if abs(skewness) < 1e-6:
        return quantile
    return 3 / skewness * (math.cbrt(1 + skewness * (quantile - skewness / 6)) - 1)


def student_quantile(freedom: float, z: float = Z95) -> float:
    """Return the quantile of Student's t-distribution that corresponds to the normal quantile `z`.

    The error is below 0.001 for every number of degrees of freedom from 1 on and every `z` up to 5. From 30 on it is
    the expansion 26.7.5 of M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, 1964, which is much too
    small for few degrees of freedom; below 30 the distribution is inverted.

    Args:
        freedom: the degrees of freedom, at least 1; they need not be a whole number.
    """
    if freedom < MIN_EXPANDED:
        return math.copysign(_inverted_quantile(freedom, abs(z)), z)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def student_tail(t: float, freedom: float) -> float:
    """Return the probability that a value of Student's t-distribution is above `t`, which is not negative.

    It is half of the regularized incomplete beta function at `freedom / (freedom + t²)` (Abramowitz and Stegun, 26.7.1
    and 26.5.27). Beyond 100,000 degrees of freedom the distribution is taken to be that of 100,000.
    """
    freedom = min(freedom, 1e5)
    square = t * t / freedom
    return _incomplete_beta(freedom / 2, 0.5, 1 / (1 + square), square / (1 + square)) / 2


@functools.lru_cache(maxsize=1024)
def _inverted_quantile(freedom: float, z: float) -> float:
    """Find the quantile by Newton's method on the logarithms of the quantile and of its tail.

    The logarithm of the tail is a concave function of the logarithm of the quantile, so the method converges.
    """
    if z == 0:
        return 0.0
    target = NormalDist().cdf(-z)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    t = z
    for _ in range(50):
        tail = student_tail(t, freedom)
        density = scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
        step = math.log(tail / target) * tail / (t * density)
        t *= math.exp(step)
        if abs(step) < 1e-12:
            break
    return t


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Compute the regularized incomplete beta function by its continued fraction (Abramowitz and Stegun, 26.5.8), which
    is evaluated from its start (W. J. Lentz, Generating Bessel functions in Mie scattering calculations, 1976).

    Args:
        rest: 1 - x, which would lose its digits if it were computed from an `x` close to 1.
    """
    if x <= 0 or rest <= 0:
        return float(rest <= 0)
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly below
        return 1 - _incomplete_beta(b, a, rest, x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = denominator
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            numerator, denominator = 1 + term / numerator, 1 / (1 + term * denominator)
            fraction *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-14:
            break
    return math.exp(logarithm) * fraction / a


def wilson(successes: float, n: float) -> Interval:
    """Compute a success rate with Wilson's 95 % interval (E. B. Wilson, 1927), which stays within 0 and 1.

    A success may be partial, such as one half for a tie. The interval is then conservative, because partial successes
    vary less than successes of 0 or 1.

    Raises:
        InvalidArgument: if there are no episodes.
    """
    if n < 1:
        raise InvalidArgument("A share needs at least one episode.")
    share = successes / n
    scale = 1 + Z95**2 / n
    centre = (share + Z95**2 / (2 * n)) / scale
    half_width = Z95 * math.sqrt(max(0.0, share * (1 - share)) / n + Z95**2 / (4 * n * n)) / scale
    return Interval(share, max(0.0, centre - half_width), min(1.0, centre + half_width))


def _linearized(rows: Sequence[tuple[int, float]]) -> list[float]:
    """Return one value for each seed, whose mean and spread are those of the mean over all episodes.

    With equally many episodes for each seed these are the seeds' means. Otherwise it is the usual linear approximation
    of a ratio of sums (W. G. Cochran, Sampling Techniques, 1977).
    """
    n = sum(count for count, _ in rows)
    mean = math.fsum(total for _, total in rows) / n
    per_seed = n / len(rows)
    return [mean + (total - mean * count) / per_seed for count, total in rows]


def _checked(seeds: Iterable[SeedSums]) -> list[SeedSums]:
    rows = [row for row in seeds if row.n]
    if not rows:
        raise InvalidArgument("An interval needs at least one episode.")
    return rows
