"""Means and shares over seeds: what their intervals are, and when there is none."""

import math
import random

import pytest

from gem.errors import InvalidArgument
from gem.evaluation.intervals import (
    Z95,
    SeedSums,
    estimate_return,
    estimate_share,
    estimate_success,
    spread_of,
    student_quantile,
    studentized,
    wilson,
)
from gem.evaluation.scores import over_environments


def seeds(*returns: list[float]) -> list[SeedSums]:
    return [SeedSums.of(values, sum(value >= 1 for value in values)) for values in returns]


def test_below_ten_seeds_there_is_no_interval_and_it_says_why() -> None:
    for estimate in (estimate_return(seeds(*[[0.1 * i, 1.0] for i in range(9)])), estimate_share([(4, 2)] * 9)):
        assert estimate.interval is None
        assert estimate.reason == "No interval: 9 seeds say too little of the spread; it takes 10."
        assert not estimate.excludes_zero
    assert estimate_share([(4, 2)] * 10).interval is not None
    assert estimate_share([(1, 1)]).reason.startswith("No interval: 1 seed says")
    assert estimate_return(seeds([1.0])).reason.startswith("No interval: 1 seed says")
    assert estimate_return(seeds(*[[1.0]] * 9)).reason.startswith("No interval: 9 seeds say")


def test_equal_returns_have_no_interval() -> None:
    estimate = estimate_return(seeds(*[[0.1 + 0.2]] * 30, [0.3]))
    assert estimate.mean == pytest.approx(0.3)
    assert (estimate.low, estimate.high) == (None, None)
    assert estimate.reason == "No interval: the returns of all 31 seeds are equal, so nothing is known of their spread."
    same_means = estimate_return(seeds(*[[0.0, 2.0]] * 12))
    assert same_means.interval is None
    assert "the mean returns of all 12 seeds are equal" in same_means.reason


def test_tries_of_a_seed_are_one_observation() -> None:
    draw = random.Random(3)
    values = [draw.gauss(0, 1) for _ in range(30)]
    once, four_times = (
        estimate_return(seeds(*[[v] for v in values])),
        estimate_return(seeds(*[[v] * 4 for v in values])),
    )
    assert four_times.seeds == 30
    assert four_times.interval == pytest.approx(once.interval)
    assert estimate_share([(4, 4)] * 20 + [(4, 0)] * 10).interval == pytest.approx(
        estimate_share([(1, 1)] * 20 + [(1, 0)] * 10).interval
    )


def test_independent_tries_narrow_a_share() -> None:
    draw = random.Random(4)
    tries = [(4, sum(draw.random() < 0.6 for _ in range(4))) for _ in range(200)]
    share = estimate_share(tries).interval
    assert share is not None
    independent = wilson(sum(successes for _, successes in tries), 800)
    assert share.high - share.low == pytest.approx(independent.high - independent.low, rel=0.15)
    assert share.high - share.low < 0.75 * (wilson(120, 200).high - wilson(120, 200).low)


def test_a_share_of_all_or_none_counts_seeds_and_not_tries() -> None:
    always = estimate_share([(4, 4)] * 30).interval
    assert always is not None
    assert always.low == pytest.approx(wilson(30, 30).low, abs=0.01)
    assert always.high == pytest.approx(1.0)
    assert estimate_share([(4, 0)] * 30).interval == pytest.approx((0.0, 0.0, 1 - always.low))


def test_returns_of_0_and_1_are_a_share() -> None:
    rows = seeds(*[[1.0]] * 45, *[[0.0]] * 5)
    assert estimate_return(rows) == estimate_success(rows)
    halved = estimate_return(seeds(*[[0.5]] * 45, *[[0.0]] * 5)).interval
    assert halved is not None
    assert halved.low < 0.5 * estimate_success(rows).low  # type: ignore[operator]
    assert halved.high > 0.45


@pytest.mark.parametrize("n", [50, 57, 80, 100, 200])
def test_a_share_is_covered_in_at_least_94_of_100_cases(n: int) -> None:
    ends = [estimate_share([(1, 1)] * won + [(1, 0)] * (n - won)) for won in range(n + 1)]
    for percent in range(20, 81, 4):
        share = percent / 100
        covered = math.fsum(
            math.comb(n, won) * share**won * (1 - share) ** (n - won)
            for won, end in enumerate(ends)
            if end.low is not None and end.high is not None and end.low <= share <= end.high
        )
        assert covered >= 0.94, (n, share, covered)


def test_unequal_numbers_of_tries_weigh_every_episode_the_same() -> None:
    rows = seeds(*[[1.0, 2.0, 3.0], [5.0]] * 10)
    estimate = estimate_return(rows)
    assert estimate.mean == pytest.approx(11 / 4)
    assert estimate.interval is not None
    assert estimate.low < 11 / 4 < estimate.high  # type: ignore[operator]


def test_each_end_is_the_outer_one_of_student_and_hall() -> None:
    draw = random.Random(5)
    values = [draw.expovariate(1) for _ in range(40)]
    low, high = studentized(sum(values) / 40, spread_of(values))
    error, quantile = spread_of(values).error, student_quantile(39)
    assert low == pytest.approx(sum(values) / 40 - quantile * error)
    assert high > sum(values) / 40 + 1.1 * quantile * error
    mirrored = studentized(-sum(values) / 40, spread_of([-value for value in values]))
    assert mirrored == pytest.approx((-high, -low))


def test_students_quantiles_and_an_interval_without_episodes() -> None:
    for freedom, quantile in ((9, 2.2622), (20, 2.0860), (60, 2.0003), (10_000, 1.9602)):
        assert student_quantile(freedom) == pytest.approx(quantile, abs=0.001)
    assert student_quantile(1e12) == pytest.approx(Z95)
    for function in (estimate_return, estimate_success):
        with pytest.raises(InvalidArgument):
            function([])
    with pytest.raises(InvalidArgument):
        estimate_share([(0, 0)])


def test_environments_weigh_the_same_however_far_they_were_played() -> None:
    easy, hard = seeds(*[[1.0]] * 12), seeds(*[[0.0]] * 4)
    partial = over_environments([easy, hard], estimate_success)
    assert partial.mean == pytest.approx(0.5), "and not 0.75, the share of the episodes that happen to be there"
    assert partial.reason == "No interval: the environment with the fewest has 4 seeds, and it takes 10 in each."
    even = over_environments([easy[:6], seeds(*[[0.0]] * 6)], estimate_success)
    assert even.mean == pytest.approx(0.5)
    assert even.interval is not None, "twelve seeds are one sample"
    constant = over_environments([easy, seeds(*[[0.0]] * 12)], estimate_return)
    assert constant.reason.startswith("No interval: in each environment all returns are equal")
