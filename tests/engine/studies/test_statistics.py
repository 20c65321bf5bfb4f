"""Interquartile means, their bootstrap intervals, probabilities of improvement, and what may be claimed."""

import random
import statistics as standard

import pytest

from bench import studies
from bench.studies import Design
from gem.errors import InvalidArgument
from gem.evaluation.intervals import Interval
from gem.studies import statistics
from gem.studies.statistics import (
    Scores,
    change,
    differences,
    improvement,
    interquartile_mean,
    mean_difference,
    profile,
    seeds_needed,
)


def aggregate(scores: Scores, key: int = 0) -> Interval:
    return statistics.aggregate(scores, statistics.resampled_means(scores, key))


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
    assert mean_difference(high, low).low > 0.1
    assert mean_difference(low, same).low < 0 < mean_difference(low, same).high
    wide, narrow = mean_difference(low, same, 50), mean_difference(low, same)
    assert wide.high - wide.low > narrow.high - narrow.low


def test_a_difference_has_the_interval_of_welch() -> None:
    from scipy import stats

    first, second = [0.31, 0.42, 0.40, 0.55], [0.20, 0.22, 0.19]
    expected = stats.ttest_ind(first, second, equal_var=False).confidence_interval(1 - 0.05 / 6)
    assert mean_difference([first], [second], 6)[1:] == pytest.approx(tuple(expected), abs=1e-6)


def test_environments_have_equal_weights_and_errors_of_their_own() -> None:
    """Drawn over all scores at once, the levels of the environments would widen the interval."""
    interval = mean_difference([[0.1, 0.12, 0.11], [0.9, 0.92, 0.91]], [[0.0, 0.02, 0.01], [0.7, 0.72, 0.71]])
    assert interval.mean == pytest.approx(0.15)
    assert interval.high - interval.low < 0.05


def test_equal_shares_are_as_uncertain_as_their_episodes() -> None:
    certain, counted = (mean_difference([[0.5] * 3], [[0.4] * 3], episodes=episodes) for episodes in (None, 32))
    assert certain == pytest.approx((0.1, 0.1, 0.1))
    assert counted.low < 0 < counted.high
    with pytest.raises(InvalidArgument, match="at least two"):
        mean_difference([[0.5]], [[0.4]])


def test_more_variants_need_more_seeds() -> None:
    pairs = {variants: variants * (variants - 1) // 2 for variants in (2, 3, 4, 5, 7, 8, 14)}
    needed = {variants: seeds_needed(count) for variants, count in pairs.items()}
    assert needed == {2: 3, 3: 4, 4: 4, 5: 5, 7: 5, 8: 6, 14: 6}
    apart: list[Scores] = [[[0.9, 0.9, 0.91]], [[0.5, 0.5, 0.51]], [[0.1, 0.1, 0.11]]]
    assert list(differences(apart[:2], 256)) == [(0, 1)]
    assert differences(apart, 256) == {}, "three seeds do not order three variants"
    assert list(differences([[[0.1] * 4], [[0.9] * 4], [[0.5] * 4]], 256)) == [(1, 0), (2, 0), (1, 2)]


@pytest.mark.parametrize(
    ("design", "kind"), [(Design(2, 3, 1), "alike"), (Design(4, 4, 1), "coins"), (Design(4, 5, 2), "alike")]
)
def test_equal_variants_are_seldom_said_to_differ(design: Design, kind: str) -> None:
    """5 % at most; the bound allows for the error of 200 studies. `python -m bench.studies` simulates more.

    With intervals of a percentile bootstrap it is 10 to 40 %.
    """
    draw = random.Random(f"{design} {kind}")
    simulated = [studies.study(draw, design, studies.CHANCES[kind]) for _ in range(200)]
    assert sum(map(studies.claims_an_order, simulated)) <= 18


def test_a_real_difference_is_found_with_ten_seeds_and_six_environments() -> None:
    draw = random.Random(4)
    simulated = [studies.study(draw, Design(4, 10, 6), studies.alike, 0.08) for _ in range(15)]
    assert standard.fmean(map(studies.found, simulated)) > 0.75


@pytest.mark.parametrize(("cells", "runs"), [(1, 3), (1, 10), (8, 4)])
def test_a_change_is_seldom_claimed_where_there_is_none(cells: int, runs: int) -> None:
    """Episodes of one training resemble one another: pooled, they claim a change in 16 % with three runs."""
    draw = random.Random(cells + runs)
    assert sum(studies.claims_a_change(draw, cells, runs, studies.alike) for _ in range(200)) <= 18


@pytest.mark.parametrize(("columns", "environments", "kind"), [(1, 8, "coins"), (6, 12, "coins"), (6, 12, "alike")])
def test_a_change_on_average_is_seldom_claimed_where_there_is_none(columns: int, environments: int, kind: str) -> None:
    """Student's t alone claims one in 14 % of matrices with 6 columns and 10 environments that keep or lose all."""
    draw = random.Random(columns)
    chance = studies.CHANCES[kind]
    assert sum(studies.claims_an_average(draw, columns, environments, chance) for _ in range(100)) <= 10


def test_a_change_is_that_of_the_mean_of_the_runs() -> None:
    found = change([0.5, 0.6, 0.7], 0.1, 256)
    assert found.mean == pytest.approx(0.5)
    assert 0.005 < found.p_value < 0.03
    assert change([0.1, 0.1, 0.1], 0.1, 256).p_value == pytest.approx(1.0)
    assert change([0.01, 0.9, 0.1], 0.1, 256).p_value > 0.3, "one run of three"


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
