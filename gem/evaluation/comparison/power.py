"""How many seeds a comparison needs, and how small a difference a number of seeds can show.

Both follow from the standard deviation of the seeds' differences (`Difference.deviation`). The formulas are those of
the paired t-test in its normal approximation, with W. C. Guenther's correction (1981) for few seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from gem.errors import InvalidArgument
from gem.evaluation.intervals import MIN_SEEDS, Z95

POWER = 0.8
"""The share of comparisons that shall find a difference that is there."""
COIN_DEVIATION = math.sqrt(0.5)
"""The deviation if nothing is known: both agents solve every seed with a probability of one half, independently."""


def seeds_needed(difference: float, deviation: float, power: float = POWER) -> int:
    """Compute the number of seeds that show this difference in the share `power` of comparisons, at the level 5 %.

    Raises:
        InvalidArgument: if the difference is 0, or the power not between 0 and 1.
    """
    if difference == 0:
        raise InvalidArgument("No number of seeds shows a difference of 0.")
    quantiles = _quantiles(power)
    seeds = (quantiles * deviation / difference) ** 2 + Z95**2 / 2
    return max(MIN_SEEDS, math.ceil(seeds))


def smallest_difference(seeds: int, deviation: float, power: float = POWER) -> float | None:
    """Compute the difference that this number of seeds shows in the share `power` of comparisons; None below 10 seeds.

    Raises:
        InvalidArgument: if the power is not between 0 and 1.
    """
    quantiles = _quantiles(power)
    return None if seeds < MIN_SEEDS else quantiles * deviation / math.sqrt(seeds - Z95**2 / 2)


def deviation_of(differences: Sequence[float]) -> float:
    """Compute the standard deviation of seeds' differences that were seen before.

    Raises:
        InvalidArgument: if there are fewer than two.
    """
    n = len(differences)
    if n < 2:
        raise InvalidArgument("A deviation needs at least two seeds that both agents have played.")
    mean = math.fsum(differences) / n
    return math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / (n - 1))


def unpaired_deviation(first_variance: float, second_variance: float) -> float:
    """Return the deviation of the differences if the two agents' results on a seed have nothing to do with each other.

    Args:
        first_variance: of the first agent's mean results by seed.
    """
    return math.sqrt(first_variance + second_variance)


def share_deviation(first: float, second: float, tries: int = 1) -> float:
    """Return the deviation of the differences for two shares of solved episodes, without pairs seen so far.

    Agents mostly fail on the same seeds, so the truth is usually smaller.
    """
    return unpaired_deviation(first * (1 - first), second * (1 - second)) / math.sqrt(tries)


def _quantiles(power: float) -> float:
    if not 0 < power < 1:
        raise InvalidArgument(f"The power must be between 0 and 1, not {power}.")
    return Z95 + NormalDist().inv_cdf(power)
