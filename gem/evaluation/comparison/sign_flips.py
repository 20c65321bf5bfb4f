"""The sign-flip test: how often chance alone makes a mean of paired differences as large.

If two agents are equally good, each seed's difference is as likely to have the other sign. The test compares the sum of
the differences with the sums under all choices of signs (R. A. Fisher, The Design of Experiments, 1935). It needs no
assumption about how returns are distributed, and ties take care of themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import NormalDist

from gem.evaluation.intervals import SAME, Z95

MAX_ENUMERATED = 14
"""Up to this number of differences that are not 0, all choices of signs are counted."""
MAX_OPERATIONS = 400_000
"""The most additions for an exact distribution of differences that are multiples of one number."""
MAX_DENOMINATOR = 12
_NORMAL = NormalDist()


def p_value(differences: Sequence[float]) -> float:
    """Compute the two-sided p-value of the sign-flip test.

    It is exact if the differences are multiples of one number, as those of solved episodes are, or if at most 14 are
    not 0. Otherwise it is the saddlepoint approximation (J. Robinson, Saddlepoint approximations for permutation tests
    and confidence intervals, 1982), whose relative error is in the range of a percent.
    """
    largest = max((abs(difference) for difference in differences), default=0.0)
    sizes = [abs(difference) for difference in differences if abs(difference) > SAME * max(1.0, largest)]
    total = abs(math.fsum(differences))
    if not sizes or total <= SAME * max(1.0, largest):
        return 1.0
    multiples = _as_multiples(sizes)
    if multiples is not None:
        unit, counts = multiples
        exact = _lattice_p(counts, round(total / unit))
        if exact is not None:
            return exact
    if len(sizes) <= MAX_ENUMERATED:
        return _enumerated_p(sizes, total)
    return _saddlepoint_p(Counter(sizes), total)


def binomial_p(successes: int, n: int) -> float:
    """Compute the exact two-sided p-value of `successes` of `n` fair coins."""
    if n == 0:
        return 1.0
    more = max(successes, n - successes)
    ways = term = math.comb(n, more)
    for heads in range(more, n):
        term = term * (n - heads) // (heads + 1)
        ways += term
    return min(1.0, 2 * ways / (1 << n))


def interval(weights: Sequence[float], differences: Sequence[float]) -> tuple[float, float] | None:
    """Compute the differences that the sign-flip test, in its normal approximation, does not reject at 5 %.

    A difference is rejected if it, subtracted from every seed, leaves a weighted sum that chance makes in fewer than
    5 % of all choices of signs. With equal weights the interval is the mean ± z s / sqrt(n - z²).

    Args:
        weights: of each difference; they add up to 1.

    Returns:
        The ends, or None if there are too few seeds for one.
    """
    pairs = list(zip(weights, differences, strict=True))
    squares = math.fsum(weight * weight for weight in weights)
    mean = math.fsum(weight * difference for weight, difference in pairs)
    first = math.fsum(weight * weight * difference for weight, difference in pairs)
    second = math.fsum((weight * difference) ** 2 for weight, difference in pairs)
    a, b, c = 1 - Z95**2 * squares, mean - Z95**2 * first, mean**2 - Z95**2 * second
    inside = b * b - a * c
    if a <= 0 or inside <= 0:
        return None
    return (b - math.sqrt(inside)) / a, (b + math.sqrt(inside)) / a


# ------------------------------------------------------------------ the distribution of the sum


def _as_multiples(sizes: Sequence[float]) -> tuple[float, dict[int, int]] | None:
    """Return the largest number found of which all sizes are multiples, and how often each multiple occurs.

    None if there is none, or if there are too many multiples to count the sums.
    """
    values = Counter(round(size, 12) for size in sizes)
    if len(values) > 200:
        return None
    smallest = min(values)
    for denominator in range(1, MAX_DENOMINATOR + 1):
        unit = smallest / denominator
        if all(abs(value / unit - round(value / unit)) < 1e-6 for value in values):
            return unit, {round(value / unit): count for value, count in values.items()}
    return None


def _lattice_p(counts: Mapping[int, int], total: int) -> float | None:
    """Return the exact p-value where sizes are whole numbers; None if that takes too long."""
    if len(counts) == 1:
        ((size, n),) = counts.items()
        return binomial_p((n + round(total / size)) // 2, n)
    length, operations = 1, 0
    for size, n in counts.items():
        operations += length * (n + 1)
        length += size * n
    if operations > MAX_OPERATIONS:
        return None
    shares = [1.0]  # of the choices of signs, by the sum of the sizes with a positive sign
    for size, n in counts.items():
        longer = [0.0] * (len(shares) + size * n)
        for heads in range(n + 1):
            share = math.comb(n, heads) / (1 << n)
            for place, other in enumerate(shares, heads * size):
                longer[place] += share * other
        shares = longer
    whole = sum(size * n for size, n in counts.items())
    return min(1.0, 2 * math.fsum(shares[(whole + total + 1) // 2 :]))


def _enumerated_p(sizes: Sequence[float], total: float) -> float:
    sums = [0.0]
    for size in sizes:
        sums = [value + size for value in sums] + [value - size for value in sums]
    return sum(abs(value) >= total * (1 - SAME) for value in sums) / len(sums)


def _saddlepoint_p(counts: Mapping[float, int], total: float) -> float:
    """Approximate the p-value by the formula of R. Lugannani and S. Rice (1980)."""
    if total >= math.fsum(size * n for size, n in counts.items()) * (1 - SAME):
        return float(2.0 ** (1 - sum(counts.values())))
    t = total / math.fsum(n * size * size for size, n in counts.items())
    low, high = 0.0, math.inf
    for _ in range(60):
        slope = curvature = 0.0
        for size, n in counts.items():
            tangent = math.tanh(size * t)
            slope += n * size * tangent
            curvature += n * size * size * (1 - tangent * tangent)
        low, high = (t, high) if slope < total else (low, t)
        if abs(slope - total) <= 1e-10 * total or not curvature:
            break
        t += (total - slope) / curvature
        if not low < t < high:
            t = (low + high) / 2 if high < math.inf else 2 * low
    cumulants = math.fsum(n * _log_cosh(size * t) for size, n in counts.items())
    root = math.sqrt(max(0.0, 2 * (t * total - cumulants)))
    scaled = t * math.sqrt(curvature)
    if root < 1e-4:  # close to the mean the two terms of the formula cancel
        return 2 * _NORMAL.cdf(-root)
    return min(1.0, max(0.0, 2 * (_NORMAL.cdf(-root) + _NORMAL.pdf(root) * (1 / scaled - 1 / root))))


def _log_cosh(x: float) -> float:
    return abs(x) + math.log1p(math.exp(-2 * abs(x))) - math.log(2)
