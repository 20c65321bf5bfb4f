"""Statistics over a few seeds in several environments: interquartile means with stratified bootstrap intervals,
performance profiles, and probabilities of improvement.

A score is the share of held-out episodes that is solved, from 0 to 1. Scores of a variant stand in a row of seeds for
each environment, and a bootstrap draws seeds anew within each environment.

Source: Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice (arXiv 2108.13264).
"""

from __future__ import annotations

import math
import random
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import chain

from gem.evaluation.intervals import Interval, student_quantile

Scores = Sequence[Sequence[float]]
"""The scores of a variant: for each environment those of its seeds."""

RESAMPLES = 2000
FEWER_RESAMPLES = 500
"""Of statistics that compare every pair of runs or thresholds."""
CONFIDENCE = 0.95
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


def difference(first: Interval, second: Interval, means: Sequence[tuple[float, float]], confidence: float) -> Interval:
    """How much higher the first interquartile mean is, with its bootstrap interval.

    Args:
        means: pairs of interquartile means of independent bootstrap samples.
        confidence: of the interval; higher where several differences are to hold together.
    """
    return _interval(first.mean - second.mean, [one - other for one, other in means], confidence)


def improvement(first: Scores, second: Scores) -> Interval:
    """The probability that a training of the first variant scores higher than one of the second, in an environment
    drawn at random, with its 95 % bootstrap interval; equal scores count half."""

    draw = random.Random(0)
    samples = [_wins(_resampled(first, draw), _resampled(second, draw)) for _ in range(FEWER_RESAMPLES)]
    return _interval(_wins(first, second), samples, CONFIDENCE)


def mean_difference(first: Sequence[float], second: Sequence[float], comparisons: int = 1) -> Interval:
    """How much higher the mean of the first values is, with its interval by Welch's t-test.

    Args:
        first, second: a value for each seed, of independent trainings; at least two of each.
        comparisons: how many such intervals are to hold together with 95 % (Bonferroni).
    """
    errors = [statistics.variance(values) / len(values) for values in (first, second)]
    mean = statistics.fmean(first) - statistics.fmean(second)
    whole = sum(errors)
    if not whole:
        return Interval(mean, mean, mean)
    freedom = whole**2 / sum(
        error**2 / (len(values) - 1) for error, values in zip(errors, (first, second), strict=True)
    )
    z = statistics.NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(1, comparisons))
    half_width = student_quantile(max(freedom, 1.0), z) * math.sqrt(whole)
    return Interval(mean, mean - half_width, mean + half_width)


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
