"""Interquartile means, their bootstrap intervals, and probabilities of improvement."""

import random
import statistics as standard

import pytest

from gem.evaluation.intervals import Interval
from gem.studies import statistics
from gem.studies.statistics import Scores, improvement, interquartile_mean, profile


def aggregate(scores: Scores, key: int = 0) -> Interval:
    return statistics.aggregate(scores, statistics.resampled_means(scores, key))


def difference(first: Scores, second: Scores, confidence: float = 0.95) -> Interval:
    means = zip(statistics.resampled_means(first, 0), statistics.resampled_means(second, 1), strict=True)
    return statistics.difference(aggregate(first), aggregate(second), list(means), confidence)


def test_an_interquartile_mean_leaves_out_the_lowest_and_the_highest_quarter() -> None:
    assert interquartile_mean([0.0, 1.0, 2.0, 100.0]) == 1.5
    assert interquartile_mean([5.0]) == 5.0
    assert interquartile_mean([1.0, 2.0, 3.0]) == 2.0, "a quarter of three is none"


def test_equal_scores_have_an_interval_without_width() -> None:
    assert aggregate([[0.5] * 4, [0.5] * 4]) == (0.5, 0.5, 0.5)


def test_an_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Interquartile means of normal scores; the percentile bootstrap is known to be a little too narrow."""
    draw = random.Random(1)
    covered = 0
    for _ in range(60):
        interval = aggregate([[draw.gauss(0.4, 0.1) for _ in range(10)] for _ in range(4)])
        covered += interval.low <= 0.4 <= interval.high
    assert covered >= 50


def test_seeds_are_drawn_within_their_environment() -> None:
    """Drawn over all scores at once, the interval would reach from one environment's level to the other's."""
    interval = aggregate([[0.1, 0.1, 0.1, 0.1], [0.9, 0.9, 0.9, 0.9]])
    assert interval.low == interval.high == pytest.approx(0.5)


def test_a_clear_difference_excludes_zero_and_noise_does_not() -> None:
    draw = random.Random(2)
    low = [[draw.gauss(0.4, 0.05) for _ in range(10)] for _ in range(3)]
    high = [[draw.gauss(0.6, 0.05) for _ in range(10)] for _ in range(3)]
    same = [[draw.gauss(0.4, 0.05) for _ in range(10)] for _ in range(3)]
    assert difference(high, low).low > 0.1
    assert difference(low, same).low < 0 < difference(low, same).high
    wide, narrow = difference(low, same, 0.999), difference(low, same)
    assert wide.high - wide.low > narrow.high - narrow.low


def test_improvement_is_the_share_of_pairs_that_are_won() -> None:
    assert improvement([[1.0, 1.0]], [[0.0, 0.0]]).mean == 1.0
    assert improvement([[0.5, 0.5]], [[0.5, 0.5]]).mean == 0.5
    assert improvement([[1.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).mean == 0.5


def test_a_profile_falls_from_all_to_none() -> None:
    draw = random.Random(3)
    found = profile([[draw.random() for _ in range(20)]], [-0.1, 0.5, 1.0])
    assert [one.mean for one in found][::2] == [1.0, 0.0]
    assert found[1].low <= found[1].mean <= found[1].high
    assert standard.fmean(one.mean for one in found) < 1
