"""Stopping as soon as a comparison is decided."""

import random
import statistics

import pytest

from gem.errors import InvalidArgument
from gem.evaluation.comparison.pairs import SeedPair
from gem.evaluation.comparison.power import COIN_DEVIATION, seeds_needed
from gem.evaluation.comparison.sequential import BettingTest, bets, complete_prefix, look, seeds_until_decided


def coin_rounds(draw: random.Random, count: int, first: float, second: float) -> list[list[float]]:
    return [[float(draw.random() < first) - float(draw.random() < second)] for _ in range(count)]


def test_looking_after_every_seed_raises_no_false_alarms() -> None:
    draw = random.Random(11)
    chosen = bets(0.2, COIN_DEVIATION)
    alarms = sum(seeds_until_decided(coin_rounds(draw, 80, 0.5, 0.5), chosen) is not None for _ in range(300))
    assert alarms <= 20  # 5 % would be 15


def test_a_large_difference_is_decided_at_half_of_the_planned_seeds() -> None:
    draw = random.Random(12)
    planned = seeds_needed(0.2, COIN_DEVIATION)
    chosen = bets(0.2, COIN_DEVIATION)
    stops = [seeds_until_decided(coin_rounds(draw, planned, 0.7, 0.3), chosen) or planned for _ in range(60)]
    assert statistics.median(stops) <= planned / 2


def test_the_interval_narrows_around_the_truth_and_decides_with_the_capital() -> None:
    draw = random.Random(13)
    test = BettingTest()
    assert (test.evidence, test.interval, test.is_decided) == (1.0, (-1.0, 1.0), False)
    widths = []
    for (difference,) in coin_rounds(draw, 400, 0.8, 0.4):
        test.add(difference)
        if test.seeds in (50, 400):
            low, high = test.interval
            assert low < 0.4 < high
            assert (low > 0) == test.is_decided
            widths.append(high - low)
    assert widths[1] < 0.6 * widths[0]
    assert test.is_decided


def test_the_order_within_what_was_played_does_not_matter() -> None:
    tests = [BettingTest(), BettingTest()]
    for test, order in zip(tests, (1, -1), strict=True):
        for difference in [0.5, -1.0, 1.0, 0.25][::order]:
            test.add(difference)
    assert tests[0].evidence == pytest.approx(tests[1].evidence)
    assert tests[0].interval == tests[1].interval


def test_environments_that_differ_in_opposite_ways_are_no_difference() -> None:
    draw = random.Random(14)
    rounds = [[float(draw.random() < 0.6), -float(draw.random() < 0.6)] for _ in range(200)]
    assert seeds_until_decided(rounds) is None
    assert seeds_until_decided([[1.0]] * 20) is not None


def test_only_a_complete_beginning_is_looked_at() -> None:
    planned = [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert complete_prefix(planned, {("a", 0), ("a", 1), ("b", 0)}) == planned[:3]
    assert complete_prefix(planned, {("b", 0)}) == []
    assert complete_prefix(planned, set(planned)) == planned


def test_a_look_takes_complete_rounds_of_all_environments() -> None:
    planned = [(env_id, seed) for seed in range(30) for env_id in ("a", "b")]
    pairs = [SeedPair(env_id, seed, 1.0, 0.0) for env_id, seed in planned if (env_id, seed) != ("b", 1)]
    found = look(planned, set(planned[:7]) | {("b", 20)}, pairs)
    assert (found.seeds, found.is_decided) == (5, False)  # three rounds; one seed of them does not count
    late = look(planned, set(planned[1:]), pairs)
    assert (late.seeds, late.evidence, late.low, late.high) == (0, 1.0, -1.0, 1.0)
    whole = look(planned, set(planned), pairs)
    assert (whole.seeds, whole.is_decided) == (59, True)
    assert 0.5 < whole.low < whole.high == 1.0
    assert look([], [], []).seeds == 0


def test_differences_and_plans_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="between -1 and 1"):
        BettingTest().add(1.5)
    for difference, deviation in ((0.0, 1.0), (1.5, 1.0), (0.1, 0.0)):
        with pytest.raises(InvalidArgument, match="planned difference"):
            bets(difference, deviation)
    assert sum(bet.weight for bet in bets(0.1, 0.5)) == pytest.approx(1)
    assert all(0 < bet.fraction < 1 for bet in [*bets(0.9, 0.1), *bets()])
