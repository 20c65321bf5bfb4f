"""The difference of two runs on the same seeds, with its intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gem.evaluation.comparison import sign_flips
from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.comparison.runs import Measure
from gem.evaluation.intervals import (
    MIN_SEEDS,
    SAME,
    Z95,
    Estimate,
    Interval,
    Spread,
    equal_reason,
    few_reason,
    spread_of,
    studentized,
)

LEVEL = 0.05
"""A difference is claimed if chance makes one as large in fewer than this share of comparisons."""


class McNemar(NamedTuple):
    """The exact test of McNemar, where each run has one episode for each seed."""

    only_first: int
    """Seeds that only the first run has solved."""
    only_second: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The first run minus the second, in one environment or in all."""

    env_id: str
    """Empty for all environments together, each with the same weight."""
    estimate: Estimate
    """The mean difference over seeds, with its 95 % interval."""
    first: float
    """The mean of the first run on these seeds."""
    second: float
    won: int
    """Seeds on which the first run did better."""
    lost: int
    tied: int
    p_value: float
    """Of the sign-flip test, by itself."""
    p_adjusted: float
    """The p-value among the others that are computed with it, after Holm."""
    bootstrap: Interval | None
    """The 95 % interval of the bootstrap over seeds, bias-corrected and accelerated."""
    sign_flip: Interval | None
    """The differences that the sign-flip test does not reject."""
    mcnemar: McNemar | None
    effect: float | None
    """The mean difference in standard deviations of the seeds' differences; None if they do not vary."""
    deviation: float | None
    """The standard deviation of the seeds' differences within their environments; None below two seeds."""

    @property
    def seeds(self) -> int:
        """The number of seeds that were compared."""
        return self.estimate.seeds

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out zero, and chance makes such a difference in fewer than 5 % of comparisons."""
        return self.estimate.excludes_zero and self.p_adjusted < LEVEL

    @property
    def superiority(self) -> float:
        """The share of seeds on which the first run did better; a tie counts as half."""
        return (self.won + self.tied / 2) / self.seeds if self.seeds else 0.5


def difference(pairs: Sequence[SeedPair], measure: Measure, *, single: bool, env_id: str = "") -> Difference:
    """Compare two runs on these seeds; there is at least one.

    All environments have the same weight. The seeds of an environment are drawn again by themselves, so that
    differences between environments do not widen the interval.

    Args:
        single: whether each run has one episode for each seed.
    """
    strata: dict[str, list[float]] = {}
    pairs = sorted(pairs, key=lambda row: row.env_id)
    for row in pairs:
        strata.setdefault(row.env_id, []).append(0.0 if row.outcome == "tie" else row.difference)
    outcomes = [row.outcome for row in pairs]
    won, lost = outcomes.count("won"), outcomes.count("lost")
    differences = [value for values in strata.values() for value in values]
    weights = [1 / len(strata) / len(values) for values in strata.values() for _ in values]
    mean = math.fsum(weight * value for weight, value in zip(weights, differences, strict=True))
    spread = stratified_spread(strata)
    deviation = spread.error * math.sqrt(len(pairs)) if spread else None
    p_value = sign_flips.p_value([weight * value for weight, value in zip(weights, differences, strict=True)])
    flips = sign_flips.interval(weights, differences) if len(pairs) >= MIN_SEEDS and spread else None
    bootstrap = _accelerated(mean, spread) if spread and spread.error and len(pairs) >= MIN_SEEDS else None
    is_mcnemar = measure == "success" and single
    return Difference(
        env_id,
        _estimate(pairs, mean, spread, measure),
        first=round(math.fsum(weight * row.first for weight, row in zip(weights, pairs, strict=True)), 12),
        second=round(math.fsum(weight * row.second for weight, row in zip(weights, pairs, strict=True)), 12),
        won=won,
        lost=lost,
        tied=len(pairs) - won - lost,
        p_value=p_value,
        p_adjusted=p_value,
        bootstrap=bootstrap,
        sign_flip=None if flips is None else Interval(mean, *flips),
        mcnemar=McNemar(won, lost, sign_flips.binomial_p(won, won + lost)) if is_mcnemar else None,
        effect=mean / deviation if deviation else None,
        deviation=deviation,
    )


def by_environment(pairs: Sequence[SeedPair], measure: Measure, *, single: bool) -> list[Difference]:
    """Compare two runs in each environment, with Holm's correction over the environments."""
    rows: dict[str, list[SeedPair]] = {}
    for row in pairs:
        rows.setdefault(row.env_id, []).append(row)
    return adjusted([difference(own, measure, single=single, env_id=env_id) for env_id, own in rows.items()])


def adjusted(differences: Sequence[Difference]) -> list[Difference]:
    """Return the differences with p-values that take into account how many there are."""
    values = holm([one.p_value for one in differences])
    return [replace(one, p_adjusted=value) for one, value in zip(differences, values, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values such that all claims together are right in 95 % of cases (S. Holm, 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    values, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        values[place] = highest
    return values


# ------------------------------------------------------------------ intervals


def stratified_spread(strata: Mapping[str, Sequence[float]]) -> Spread | None:
    """Compute the spread of the mean over environments of the means over their seeds; None below two seeds.

    Environments with one seed are taken together, as if they were one, because one value has no spread (W. G. Cochran,
    Sampling Techniques, 1977: collapsed strata). The degrees of freedom are F. E. Satterthwaite's (1946).
    """
    share = 1 / len(strata)
    alone = [values[0] for values in strata.values() if len(values) == 1]
    parts = [(share, values) for values in strata.values() if len(values) > 1]
    if len(alone) > 1:
        parts.append((share * len(alone), alone))
    elif alone and parts:  # its spread is taken to be that of all the others
        parts.append((share, [value for values in strata.values() for value in values]))
    elif alone:
        return None
    variance = third = freedom = 0.0
    for weight, values in parts:
        spread = spread_of(values)
        part = (weight * spread.error) ** 2
        variance += part
        third += spread.skewness * part**1.5
        freedom += part**2 / spread.freedom
    if variance == 0:
        return Spread(0.0, 0.0, 1.0)
    return Spread(math.sqrt(variance), third / variance**1.5, max(1.0, variance**2 / freedom))


def _estimate(pairs: Sequence[SeedPair], mean: float, spread: Spread | None, measure: Measure) -> Estimate:
    """Return the mean difference with its interval.

    For solved episodes two seeds are added, one with the largest difference seen and one with its opposite, so that
    agreement on all seeds is no certainty. With one try these are a seed that only the first run solves, and one that
    only the second solves (D. G. Bonett and R. M. Price, Adjusted Wald confidence interval for a difference of binomial
    proportions based on paired data, 2012).
    """
    n = len(pairs)
    if n < MIN_SEEDS or spread is None:
        return Estimate(mean, None, None, n, few_reason(n))
    if measure == "success":
        centre = mean * n / (n + 2)
        largest = max((abs(row.difference) for row in pairs if row.outcome != "tie"), default=1.0)
        within = (spread.error * n) ** 2 * (1 - 1 / n)  # the squares of the differences from their mean
        error = math.sqrt(within + 2 * largest**2 + 2 * mean * mean * n / (n + 2)) / (n + 2)
        return Estimate(mean, max(-1.0, centre - Z95 * error), min(1.0, centre + Z95 * error), n)
    if spread.error <= SAME:
        return Estimate(mean, None, None, n, equal_reason(n, "differences"))
    return Estimate(mean, *studentized(mean, spread), n)


def _accelerated(mean: float, spread: Spread) -> Interval:
    """Compute the bias-corrected and accelerated bootstrap interval (B. Efron, 1987) from its expansion, not by draws.

    For a mean, the bias correction and the acceleration are both a sixth of the skewness of its distribution, and the
    quantiles of the bootstrap distribution follow from its first three moments (P. Hall, The Bootstrap and Edgeworth
    Expansion, 1992).
    """
    sixth = spread.skewness / 6
    error = spread.error * math.sqrt(1 - 1 / (spread.freedom + 1))

    def end(z: float) -> float:
        shifted = sixth + (sixth + z) / max(1e-9, 1 - sixth * (sixth + z))
        return mean + error * (shifted + sixth * (shifted * shifted - 1))

    return Interval(mean, end(-Z95), end(Z95))
