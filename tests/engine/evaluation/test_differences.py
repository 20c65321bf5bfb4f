"""Differences of two runs on the same seeds: intervals, tests, environments and ranks."""

import itertools
import random

import pytest

from gem.errors import InvalidArgument
from gem.evaluation.compare import compare
from gem.evaluation.comparison import power, sign_flips
from gem.evaluation.comparison.differences import by_environment, difference, holm, stratified_spread
from gem.evaluation.comparison.pairs import SeedPair, pair
from gem.evaluation.comparison.ranks import in_words, rank_intervals
from gem.evaluation.comparison.runs import Run, ScoredEpisode


def episode(seed: int, value: float, seat: int = 0, repeat: int = 0, env_id: str = "game:A-v0", **more: bool):
    return ScoredEpisode(env_id, seed, seat, repeat, value, value >= 1, 3, **more, name=f"{seed}.{seat}.{repeat}")


def run(name: str, *values: float, env_id: str = "game:A-v0") -> Run:
    return Run(name, [episode(seed, value, env_id=env_id) for seed, value in enumerate(values)])


def pairs(won: int, lost: int, tied: int, env_id: str = "game:A-v0") -> list[SeedPair]:
    rows = [(1.0, 0.0)] * won + [(0.0, 1.0)] * lost + [(1.0, 1.0)] * tied
    return [SeedPair(env_id, seed, first, second) for seed, (first, second) in enumerate(rows)]


# ------------------------------------------------------------------ pairs


def test_both_seats_and_all_tries_of_a_seed_are_one_pair() -> None:
    first = Run("a", [episode(7, value, seat, repeat) for seat, repeat, value in [(0, 0, 1), (0, 1, 0), (1, 0, 1)]])
    second = Run("b", [episode(7, 0, 0), episode(7, 1, 1), episode(8, 1)])
    found = pair(first, second, "success")
    (row,) = found.pairs
    assert (row.seed, row.first, row.second, row.outcome) == (7, 0.75, 0.5, "won")
    assert row.first_episodes == ("7.0.0", "7.0.1", "7.1.0")
    assert (found.only_first, found.only_second, found.single) == (0, 1, False)


def test_only_seats_that_both_have_played_are_compared() -> None:
    first = Run("a", [episode(0, 1, seat=0), episode(0, 0, seat=1)])
    second = Run("b", [episode(0, 0, seat=0), episode(0, 1, seat=1, failed=True)])
    assert [(row.first, row.second) for row in pair(first, second, "success").pairs] == [(1.0, 0.0)]
    lost = Run("c", [episode(0, 1, unanswered=True)])
    assert pair(first, lost, "success") == ([], 0, 0, 1, False)


def test_returns_that_differ_in_the_last_digit_tie() -> None:
    found = pair(run("a", 0.1 + 0.2), run("b", 0.3), "return").pairs[0]
    assert found.outcome == "tie"
    assert difference([found], "return", single=True).won == 0


# ------------------------------------------------------------------ tests of signs


def brute_p(values: list[float]) -> float:
    total = abs(sum(values))
    sums = [sum(signs) for signs in itertools.product(*((value, -value) for value in values))]
    return sum(abs(one) >= total - 1e-9 for one in sums) / len(sums)


@pytest.mark.parametrize(
    "values",
    [
        [1, 1, 1, -1, 0, 0],
        [0.25, 0.5, -0.25, 1, 0.75, 0.25, -0.5],
        [1 / 3, 0.5, -0.5, 2 / 3, 1 / 6],
        [0.123, 1.7, -0.3, 2.9, 0.77],
        [1, -1],
        [5.0],
    ],
)
def test_the_test_of_signs_counts_all_choices_of_signs(values: list[float]) -> None:
    assert sign_flips.p_value(values) == pytest.approx(brute_p(values))
    assert sign_flips.p_value([-value for value in values]) == sign_flips.p_value(values)


def test_the_approximation_for_many_seeds_agrees_with_counting() -> None:
    draw = random.Random(1)
    for shift in (0.0, 0.3, 0.8, 1.5):
        values = [draw.gauss(shift, 1) for _ in range(16)]
        assert sign_flips.p_value(values) == pytest.approx(brute_p(values), rel=0.03, abs=2e-4)


def test_nothing_but_ties_says_nothing() -> None:
    assert sign_flips.p_value([]) == sign_flips.p_value([0.0] * 20) == sign_flips.p_value([1.0, -1.0]) == 1.0
    assert sign_flips.p_value([1.0] * 30) == 2.0**-29
    assert sign_flips.p_value([1.0 + 1e-3 * i**0.5 for i in range(30)]) == pytest.approx(2.0**-29)


def test_the_tests_of_solved_seeds_are_those_of_mcnemar() -> None:
    found = difference(pairs(12, 3, 35), "success", single=True)
    assert found.mcnemar is not None
    assert found.mcnemar[:2] == (12, 3)
    assert found.mcnemar.p_value == found.p_value == pytest.approx(0.03515625)
    assert difference(pairs(12, 3, 35), "success", single=False).mcnemar is None
    assert sign_flips.binomial_p(0, 0) == 1.0


# ------------------------------------------------------------------ differences


def test_agreement_on_all_seeds_is_no_certainty() -> None:
    found = difference(pairs(0, 0, 40), "success", single=True)
    assert found.estimate.low == pytest.approx(-found.estimate.high)  # type: ignore[operator]
    assert found.estimate.high is not None
    assert 0.04 < found.estimate.high < 0.12
    assert (found.decided, found.p_value, found.effect) == (False, 1.0, None)
    same = difference([SeedPair("e", seed, 0.5, 0.25) for seed in range(20)], "return", single=True)
    assert same.estimate.interval is None
    assert not same.decided


def test_below_ten_seeds_nothing_is_decided() -> None:
    found = difference(pairs(9, 0, 0), "success", single=True)
    assert found.p_value < 0.01
    assert (found.decided, found.estimate.interval, found.bootstrap, found.sign_flip) == (False, None, None, None)


def test_environments_have_the_same_weight_and_their_own_spread() -> None:
    rows = pairs(30, 0, 0, "x") + pairs(0, 0, 10, "y")
    found = difference(rows, "success", single=True)
    assert found.estimate.mean == pytest.approx(0.5)
    assert found.deviation == 0  # within each environment the seeds do not differ
    shuffled = [*rows[::2], *rows[1::2]]
    assert (difference(shuffled, "success", single=True).first, found.first) == (1.0, 1.0)
    assert difference(shuffled, "success", single=True).second == found.second == 0.5
    mixed = difference(pairs(10, 5, 5, "x") + pairs(10, 5, 5, "y"), "success", single=True)
    alone = difference(pairs(20, 10, 10), "success", single=True)
    assert mixed.estimate.interval == pytest.approx(alone.estimate.interval, abs=0.005)


def test_environments_with_one_seed_are_taken_together() -> None:
    assert stratified_spread({"a": [1.0]}) is None
    lonely = stratified_spread({str(number): [float(number % 2)] for number in range(40)})
    together = stratified_spread({"all": [float(number % 2) for number in range(40)]})
    assert lonely == pytest.approx(together)
    assert stratified_spread({"a": [1.0, 0.0, 1.0], "b": [0.5]}) is not None


def test_holm_adjusts_every_environment() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    found = by_environment(pairs(20, 0, 5, "x") + pairs(8, 1, 16, "y"), "success", single=True)
    assert [one.env_id for one in found] == ["x", "y"]
    assert found[0].p_adjusted == pytest.approx(2 * found[0].p_value)
    assert found[1].p_adjusted == found[1].p_value < 0.05


def test_ranks_are_as_wide_as_what_was_not_decided() -> None:
    assert rank_intervals(3, [(0, 2)]) == [(1, 2), (1, 3), (2, 3)]
    assert rank_intervals(2, []) == [(1, 2), (1, 2)]
    assert [in_words(one) for one in rank_intervals(3, [(0, 1), (0, 2), (1, 2)])] == ["1", "2", "3"]
    assert in_words((2, 4)) == "2–4"


# ------------------------------------------------------------------ the whole comparison


def test_several_runs_are_compared_in_pairs() -> None:
    draw = random.Random(6)
    chances = (0.9, 0.85, 0.2)
    runs = [
        run(name, *(float(draw.random() < chance) for _ in range(60)))
        for name, chance in zip("abc", chances, strict=True)
    ]
    found = compare(runs)
    assert [(one.first, one.second) for one in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert found.ranks == [(1, 2), (1, 2), (3, 3)]
    close, clear, _ = found.pairs
    assert close.sentence.startswith("Too close to call on 60 seeds: a minus b is ")
    assert clear.sentence.startswith("On 60 seeds, a solves ")
    assert clear.sentence.endswith("leaves out zero, so this is unlikely to be luck.")
    assert clear.difference is not None
    assert clear.difference.p_value < clear.difference.p_adjusted <= 3 * clear.difference.p_value
    assert found.scores[0].success is not None
    for number in (1, 7):
        with pytest.raises(InvalidArgument, match="Compare 2 to 6 runs"):
            compare([run("a", 1.0)] * number)


def test_the_sentence_claims_no_more_than_the_numbers() -> None:
    few = compare([run("a", *[1.0] * 6), run("b", *[0.0] * 6)]).pairs[0].sentence
    assert few == "Too few seeds to compare: a and b share 6 seeds that count in both, and it takes 10."
    none = compare([run("a", 1.0), run("b", 1.0, env_id="game:B-v0")]).pairs[0]
    assert none.sentence == "a and b share no seed that counts in both, so they cannot be compared."
    assert none.difference is None
    same = compare([run("a", *[0.5] * 12), run("b", *[0.5] * 12)], "return").pairs[0].sentence
    assert same == "a and b have equal results on all 12 seeds that both have played."
    shifted = compare([run("a", *[0.5] * 12), run("b", *[0.7] * 12)], "return").pairs[0].sentence
    assert shifted == "a minus b is −0.200 on each of 12 seeds."
    worse = compare([run("a", *[0.0, 0.1] * 10), run("b", *[0.9, 1.2] * 10)], "return").pairs[0].sentence
    assert worse.startswith("On 20 seeds, b has a mean return that is 1.000 higher than a. The 95 % interval, 0.9")


def test_where_a_difference_is_shown() -> None:
    def of(name: str, **shares: int) -> Run:
        episodes = [
            episode(seed, float(seed < solved), env_id=env_id)
            for env_id, solved in shares.items()
            for seed in range(20)
        ]
        return Run(name, episodes)

    found = compare([of("a", x=20, y=10, z=11), of("b", x=0, y=10, z=10)]).pairs[0]
    assert found.sentence.endswith(
        "It is shown by itself in 1 of 3 environments; in the other 2, these seeds do not decide."
    )
    opposite = compare([of("a", x=20, y=0, z=20), of("b", x=0, y=12, z=0)]).pairs[0]
    assert opposite.sentence.endswith("It is shown by itself in 2 of 3 environments, and the opposite in 1.")


# ------------------------------------------------------------------ power


def test_power_and_the_number_of_seeds_belong_together() -> None:
    seeds = power.seeds_needed(0.03, 0.6)
    assert seeds == 3142
    assert power.smallest_difference(seeds, 0.6) == pytest.approx(0.03, rel=0.001)
    assert power.smallest_difference(9, 0.6) is None
    assert power.seeds_needed(5.0, 0.1) == 10
    assert power.seeds_needed(0.1, 0.5, power=0.9) > power.seeds_needed(-0.1, 0.5)
    assert power.share_deviation(0.5, 0.5) == pytest.approx(power.COIN_DEVIATION)
    assert power.deviation_of([1, 0, -1, 0]) == pytest.approx((2 / 3) ** 0.5)
    for wrong in (
        lambda: power.seeds_needed(0, 1),
        lambda: power.smallest_difference(50, 1, 1),
        lambda: power.deviation_of([1]),
    ):
        with pytest.raises(InvalidArgument):
            wrong()
