"""Statistics over a few seeds in several environments.

A score is the share of held-out episodes that is solved, from 0 to 1. Scores of a variant stand in a row of seeds for
each environment.

Two kinds of intervals are computed. Those of interquartile means, performance profiles and probabilities of improvement
describe: they are percentile intervals of a bootstrap that draws seeds anew within each environment, as in Agarwal et
al., Deep Reinforcement Learning at the Edge of the Statistical Precipice (arXiv 2108.13264). Such an interval never
leaves the range of the values, so with few seeds it is too narrow for a claim. What a study claims follows from
differences of means with the errors of Student's t-distribution (`mean_difference`, `change`), and from
`seeds_needed`. `python -m bench.studies` measures how often equal variants are said to differ.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from gem.errors import InvalidArgument
from gem.evaluation.comparison import sign_flips
from gem.evaluation.intervals import Interval, student_quantile, student_tail

Scores = Sequence[Sequence[float]]
"""The scores of a variant: for each environment those of its seeds."""

RESAMPLES = 2000
FEWER_RESAMPLES = 500
"""Of statistics that compare every pair of runs or thresholds."""
CONFIDENCE = 0.95
FEWEST_SEEDS = 3
"""With fewer seeds there is no interval, and nothing is claimed."""
THRESHOLDS = tuple(number / 40 for number in range(41))
"""The shares at which a performance profile is drawn."""


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean without the lowest and the highest quarter of the values (each rounded down)."""
    ordered = sorted(values)
    cut = len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut]
    return math.fsum(middle) / len(middle)


def resampled_means(scores: Scores, key: int) -> list[float]:
    """The interquartile means of `RESAMPLES` bootstrap samples; equal arguments give equal ones.

    Args:
        key: makes the samples of different variants independent.
    """
    draw = random.Random(key)
    return [_iqm(_resampled(scores, draw)) for _ in range(RESAMPLES)]


def aggregate(scores: Scores, means: list[float]) -> Interval:
    """The interquartile mean over all environments and seeds, with its 95 % bootstrap interval.

    Args:
        means: those of the bootstrap samples (`resampled_means`).
    """
    return _interval(_iqm(scores), means, CONFIDENCE)


def improvement(first: Scores, second: Scores) -> Interval:
    """The probability that a training of the first variant scores higher than one of the second, in an environment
    drawn at random, with its 95 % bootstrap interval; equal scores count half."""

    draw = random.Random(0)
    samples = [_wins(_resampled(first, draw), _resampled(second, draw)) for _ in range(FEWER_RESAMPLES)]
    return _interval(_wins(first, second), samples, CONFIDENCE)


def profile(scores: Scores, thresholds: Sequence[float]) -> list[Interval]:
    """The share of runs that score above each threshold, with pointwise 95 % bootstrap intervals: a performance
    profile."""
    draw = random.Random(0)
    samples = [sorted(chain.from_iterable(_resampled(scores, draw))) for _ in range(FEWER_RESAMPLES)]
    whole = sorted(chain.from_iterable(scores))
    return [
        _interval(_above(whole, threshold), [_above(sample, threshold) for sample in samples], CONFIDENCE)
        for threshold in thresholds
    ]


# ------------------------------------------------------------------ what is claimed


def seeds_needed(comparisons: int) -> int:
    """Return how many seeds each variant needs in each environment, for so many comparisons to be claimed.

    Student's t-distribution knows nothing of trainings that either succeed or fail. If each succeeds with a probability
    of one half, all `n` trainings of one variant succeed and all of another fail with a probability of 4**-n, whatever
    the size of the difference. With this number of seeds that happens to any pair in at most 5 % of studies.

    Args:
        comparisons: pairs of variants that are compared, in both directions.
    """
    seeds = FEWEST_SEEDS
    while 2 * comparisons * 4.0**-seeds > 1 - CONFIDENCE:
        seeds += 1
    return seeds


def differences(variants: Sequence[Scores], episodes: int) -> dict[tuple[int, int], Interval]:
    """How much more one variant solves than another, for each pair, by the places of both: the higher mean is first.

    The intervals of all pairs hold together with 95 % (`mean_difference`). There are none with fewer than
    `seeds_needed` seeds in an environment.

    Args:
        episodes: of which each score is a share.
    """
    pairs = math.comb(len(variants), 2)
    if min((len(own) for scores in variants for own in scores), default=0) < seeds_needed(pairs):
        return {}
    ordered = (
        sorted(pair, key=lambda place: -_mean(variants[place]))
        for pair in itertools.combinations(range(len(variants)), 2)
    )
    return {
        (better, other): mean_difference(variants[better], variants[other], pairs, episodes)
        for better, other in ordered
    }


def mean_difference(first: Scores, second: Scores, comparisons: int = 1, episodes: int | None = None) -> Interval:
    """How much higher the mean of the first scores is, with its interval: environments have equal weights.

    The error is that of Welch's t-test, stratified by environment, with the degrees of freedom of F. E. Satterthwaite,
    An approximate distribution of estimates of variance components, 1946.

    Args:
        first, second: for each environment a value for each seed, of independent trainings; at least two of each.
        comparisons: how many such intervals are to hold together with 95 % (Bonferroni).
        episodes: if the values are shares of solved episodes, how many episodes there are; see `MeanError.of`.

    Raises:
        InvalidArgument: if there are fewer than two values.
    """
    error = MeanError.of_sum(MeanError.of(scores, episodes) for scores in (first, second))
    mean = _mean(first) - _mean(second)
    half_width = error.half_width(comparisons)
    return Interval(mean, mean - half_width, mean + half_width)


class Change(NamedTuple):
    """How much more trainings solve than what they began with."""

    mean: float
    p_value: float
    """The probability of such a mean, or of one farther from 0, if training changes nothing (two-sided)."""


def change(shares: Sequence[float], before: float, episodes: int) -> Change:
    """Test whether trainings solve more or less than the policy that they began with, by Student's t-test of their
    shares.

    The runs are the observations, because episodes of one training resemble one another. The share before is measured
    once, and its binomial error is added. The degrees of freedom stay those of the runs: Satterthwaite's would be many
    whenever the shares of few runs are nearly equal by chance, and the test would then claim too much.

    Args:
        shares: of the held-out episodes, for each of two or more runs.
        episodes: held-out episodes of each run, and of the measurement before.
    """
    after = MeanError.of([shares], episodes)
    error = math.sqrt(after.variance + _binomial_variance([before], episodes))
    mean = statistics.fmean(shares) - before
    return Change(mean, 2 * student_tail(abs(mean) / error, after.freedom))


class Start(NamedTuple):
    """What several trainings began with."""

    policy: str
    share: float
    """Of the held-out episodes that it solves before any training, which was measured once."""


class AverageChange(NamedTuple):
    """How much more policies solve than what they began with, on average over the environments they were trained in."""

    interval: Interval
    """The mean, with an interval that holds for all comparisons together with 95 % (Student's t, Bonferroni)."""
    p_value: float
    """The probability of such a mean, or of one farther from 0, in any of the comparisons, if training is as likely to
    raise what is solved as to lower it (sign flips, Bonferroni). Sign flips know nothing of the error of the
    measurements before, so the changes are taken to be smaller by its standard error."""

    @property
    def is_clear(self) -> bool:
        """Whether both say that it is not 0. The t-distribution alone knows nothing of trainings that either keep or
        lose everything."""
        return self.p_value < 1 - CONFIDENCE and not self.interval.low <= 0 <= self.interval.high


def average_change(after: Sequence[float], starts: Sequence[Start], episodes: int, comparisons: int) -> AverageChange:
    """Compare what policies solve with what they began with; the environments they were trained in are observations.

    All trainings that began with one policy are compared with the same measurement, whose binomial error is added.

    Args:
        after: a mean share for each of two or more environments.
        starts: for each of these environments, what its trainings began with.
        episodes: held-out episodes of the measurements before.
        comparisons: how many such comparisons are made.
    """
    changes = [own - start.share for own, start in zip(after, starts, strict=True)]
    mean, among = statistics.fmean(changes), statistics.variance(changes) / len(changes)
    before = math.fsum(
        (number / len(changes)) ** 2 * _binomial_variance([start.share], episodes)
        for start, number in Counter(starts).items()
    )
    half_width = MeanError(among + before, len(changes) - 1).half_width(comparisons)
    nearer = math.copysign(min(abs(mean), math.sqrt(before)), mean)
    p_value = sign_flips.p_value([change - nearer for change in changes])
    return AverageChange(Interval(mean, mean - half_width, mean + half_width), min(1.0, comparisons * p_value))


class MeanError(NamedTuple):
    """The error of a mean, or of a difference of means."""

    variance: float
    freedom: float
    """The degrees of freedom of the variance (Satterthwaite); infinite if it is known."""

    @classmethod
    def of(cls, scores: Scores, episodes: int | None = None) -> MeanError:
        """The error of the mean over environments of the means over their seeds.

        Few seeds may have nearly equal shares by chance. So the variance of the shares of an environment is taken to be
        at least the binomial one of as many episodes as all seeds have together, whose share is estimated with two
        successes and two failures more (A. Agresti and B. A. Coull, Approximate is better than "exact" for interval
        estimation of binomial proportions, 1998).

        Args:
            episodes: of which each score is a share; None if the scores are no shares.

        Raises:
            InvalidArgument: if an environment has fewer than two values.
        """
        if any(len(own) < 2 for own in scores):
            raise InvalidArgument("An interval over seeds needs at least two.")
        weight = 1 / len(scores) ** 2
        found = [statistics.variance(own) / len(own) for own in scores]
        if episodes is not None:
            found = [max(one, _binomial_variance(own, episodes)) for one, own in zip(found, scores, strict=True)]
        return cls.of_sum(cls(weight * one, len(own) - 1) for one, own in zip(found, scores, strict=True))

    @classmethod
    def of_sum(cls, parts: Iterable[MeanError]) -> MeanError:
        """The error of sums and differences of independent means."""
        found = [part for part in parts if part.variance]
        if not found:
            return cls(0.0, math.inf)
        variance = math.fsum(part.variance for part in found)
        return cls(variance, variance**2 / math.fsum(part.variance**2 / part.freedom for part in found))

    def half_width(self, comparisons: int = 1) -> float:
        """Half of the width of an interval, of which so many are to hold together with 95 % (Bonferroni)."""
        if not self.variance:
            return 0.0
        z = statistics.NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(1, comparisons))
        return student_quantile(self.freedom, z) * math.sqrt(self.variance)


def _mean(scores: Scores) -> float:
    """The mean over environments of the means over their seeds."""
    return statistics.fmean(statistics.fmean(own) for own in scores)


def _binomial_variance(shares: Sequence[float], episodes: int) -> float:
    """The variance of the mean of shares of independent episodes."""
    count = len(shares) * episodes
    share = (math.fsum(shares) * episodes + 2) / (count + 4)
    return share * (1 - share) / count


# ------------------------------------------------------------------ bootstrap


def _interval(value: float, resampled: list[float], confidence: float) -> Interval:
    """The percentile interval of a statistic."""
    ordered = sorted(resampled)
    cut = (1 - confidence) / 2 * (len(ordered) - 1)
    return Interval(value, ordered[math.floor(cut)], ordered[math.ceil(len(ordered) - 1 - cut)])


def _resampled(scores: Scores, draw: random.Random) -> list[list[float]]:
    return [draw.choices(own, k=len(own)) for own in scores]


def _iqm(scores: Scores) -> float:
    return interquartile_mean(list(chain.from_iterable(scores)))


def _wins(first: Scores, second: Scores) -> float:
    """The mean over environments of the share of pairs that the first wins."""
    shares = [_share_won(own, sorted(other)) for own, other in zip(first, second, strict=True)]
    return math.fsum(shares) / len(shares)


def _share_won(own: Sequence[float], other: Sequence[float]) -> float:
    """The share of pairs that the first wins; `other` is in ascending order. Equal scores count half."""
    won = sum(bisect_left(other, score) + bisect_right(other, score) for score in own)
    return won / (2 * len(own) * len(other))


def _above(ordered: Sequence[float], threshold: float) -> float:
    """The share of scores above the threshold; they are in ascending order."""
    return (len(ordered) - bisect_right(ordered, threshold)) / len(ordered)
