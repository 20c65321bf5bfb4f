"""The strength of one player against opponents of known strength."""

from __future__ import annotations

import math

import pytest

from gem.evaluation.ranking.performance import DEVIATION, MEAN, Score, performance


def test_without_games_it_is_the_prior() -> None:
    assert performance([]).mean == pytest.approx(MEAN)
    assert performance([]).high == pytest.approx(MEAN + 1.959964 * DEVIATION, rel=1e-4)


def test_the_slope_of_the_posterior_is_zero_at_the_result() -> None:
    scores = [Score(1500, 7, 10), Score(1800, 2.5, 6), Score(1100, 4, 4)]
    value = performance(scores).mean
    scale = 400 / math.log(10)
    expected = sum(score.games / (1 + 10 ** ((score.opponent - value) / 400)) for score in scores)
    assert (sum(score.points for score in scores) - expected) / scale == pytest.approx((value - MEAN) / DEVIATION**2)


def test_many_games_against_one_opponent_give_the_logit_of_the_share() -> None:
    found = performance([Score(1700, 7_500, 10_000)])
    assert found.mean == pytest.approx(1700 + 400 * math.log10(3), abs=2)
    assert found.high - found.low < 20


def test_who_wins_all_games_has_a_finite_rating_that_grows_with_their_number() -> None:
    few, many = performance([Score(1500, 3, 3)]), performance([Score(1500, 300, 300)])
    assert 1500 < few.mean < many.mean < 4000
    assert few.high - few.low > many.high - many.low
