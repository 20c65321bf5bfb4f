"""Scores, ranks, strengths and fronts: by hand, by simulation, and beside scipy and statsmodels."""

from __future__ import annotations

import math
import random
from itertools import permutations

import numpy as np
import pytest

from gem.errors import InvalidArgument
from gem.evaluation.intervals import student_tail
from gem.evaluation.ranking import bradley_terry
from gem.evaluation.ranking.board import Board, Returns, Scale, rank
from gem.evaluation.ranking.bradley_terry import Game, fit, most_telling
from gem.evaluation.ranking.pareto import Point, front

WIDE = {"a": Scale(-100.0, 100.0)}
UNIT = {env_id: Scale(0.0, 1.0) for env_id in "abcd"}


def one_each(values: list[float], first_seed: int = 0) -> Returns:
    return {"a": {first_seed + place: [value] for place, value in enumerate(values)}}


def test_means_are_clipped_by_environment_and_not_by_episode() -> None:
    scales = {"a": Scale(0.0, 10.0), "b": Scale(-1.0, 1.0)}
    returns = {"a": {1: [-20.0], 2: [25.0, 25.0]}, "b": {1: [-9.0], 2: [-9.0]}}
    [row] = rank({"x": returns}, scales, resamples=50).rows
    assert row.scores["a"].mean == 1.0  # of the mean return 10
    assert row.scores["b"].mean == 0.0
    assert row.score.mean == 0.5
    assert row.score.low is None
    assert "2 seeds say" in row.scores["a"].reason


def test_the_interval_is_that_of_scipy_where_nothing_is_clipped() -> None:
    from scipy import stats

    draw = random.Random(3)
    values = [draw.gauss(5, 10) for _ in range(150)]
    [row] = rank({"x": one_each(values)}, WIDE).rows
    theirs = stats.bootstrap((values,), np.mean, n_resamples=2_000, method="percentile", rng=1)
    scale = 200.0
    low, high = row.score.low * scale - 100, row.score.high * scale - 100
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert low == pytest.approx(theirs.confidence_interval.low, abs=0.08 * width)
    assert high == pytest.approx(theirs.confidence_interval.high, abs=0.08 * width)
    assert row.score.low < row.score.mean < row.score.high


def test_groups_of_many_seeds_have_the_spread_of_the_seeds() -> None:
    draw = random.Random(4)
    values = [draw.random() for _ in range(2_500)]
    [row] = rank({"x": one_each(values)}, {"a": UNIT["a"]}, resamples=400).rows
    assert row.score.mean == pytest.approx(np.mean(values))
    assert row.score.high - row.score.low == pytest.approx(2 * 1.96 * np.std(values) / 50, rel=0.15)


def test_the_result_depends_neither_on_order_nor_on_other_rows() -> None:
    draw = random.Random(1)
    rows = {name: one_each([draw.random() for _ in range(20)]) for name in "xyz"}
    board = rank(rows, WIDE, resamples=100)
    assert rank(dict(reversed(rows.items())), WIDE, resamples=100) == board
    alone = rank({"x": rows["x"]}, WIDE, resamples=100)
    assert alone.rows[0].score == next(row.score for row in board.rows if row.name == "x")


def test_a_perfect_row_is_surely_better_and_equal_rows_are_not() -> None:
    perfect = one_each([1.0] * 30)
    draw = random.Random(2)
    poor = one_each([float(draw.random() < 0.3) for _ in range(30)])
    board = rank(
        {"perfect": perfect, "same": perfect, "poor": poor, "none": one_each([0.0] * 30)}, {"a": Scale(0.0, 1.0)}
    )
    assert {row.name: tuple(row.ranks) for row in board.rows} == {
        "perfect": (1, 2),
        "same": (1, 2),
        "poor": (3, 3),
        "none": (4, 4),
    }
    assert [claim.p_value for claim in board.claims if {claim.first, claim.second} == {"perfect", "same"}] == [1.0]


def test_pairs_on_common_seeds_tell_more_than_others() -> None:
    draw = random.Random(5)
    problems = [draw.gauss(0, 10) for _ in range(40)]
    first = one_each([value + 1 + draw.gauss(0, 1) for value in problems])
    second = one_each([value + draw.gauss(0, 1) for value in problems])
    elsewhere = one_each([value + draw.gauss(0, 1) for value in problems], first_seed=10_000)
    [paired] = rank({"x": first, "y": second}, WIDE).claims
    [unpaired] = rank({"x": first, "y": elsewhere}, WIDE).claims
    assert paired.p_value < 0.01
    assert unpaired.p_value > 0.3


def test_pairs_have_the_p_value_of_a_paired_t_test() -> None:
    random = np.random.default_rng(0)
    problems, noise = random.normal(0, 50, 20), random.normal(size=20)
    differences = (noise - noise.mean()) / noise.std(ddof=1) + 5 / math.sqrt(20)  # t is 5, with 19 degrees of freedom
    rows = {"x": one_each(list(problems / 9 + differences)), "y": one_each(list(problems / 9))}
    [claim] = rank(rows, WIDE).claims
    assert claim.p_value == pytest.approx(2 * student_tail(5, 19), rel=0.5)


def test_both_above_the_anchor_are_equal() -> None:
    board = rank({"x": one_each([3.0, 4.0] * 10), "y": one_each([8.0, 9.0] * 10)}, {"a": Scale(0.0, 1.0)})
    assert [tuple(row.ranks) for row in board.rows] == [(1, 2), (1, 2)]
    assert (board.rows[0].score.low, board.rows[0].score.high) == (1.0, 1.0)


def test_rows_have_every_environment_and_no_other() -> None:
    with pytest.raises(InvalidArgument, match="no episode of b"):
        rank({"x": one_each([1.0])}, {"a": Scale(0, 1), "b": Scale(0, 1)})
    with pytest.raises(InvalidArgument, match="'a'"):
        rank({"x": {"a": {1: [1.0]}, "b": {1: [1.0]}}}, {"b": Scale(0, 1)})
    assert rank({}, UNIT) == Board([], [])


def _simulated(draw: random.Random, chances: dict[str, float], seeds: int, *, shared: bool) -> dict[str, Returns]:
    """Rows of which every seed of every environment is solved with a chance of its own around that of the row."""
    problems = {env_id: [draw.uniform(-0.3, 0.3) for _ in range(seeds)] for env_id in UNIT}
    return {
        name: {
            env_id: {
                place + (0 if shared else 1000 * number): [float(draw.random() < chance + easier)]
                for place, easier in enumerate(
                    problems[env_id] if shared else [draw.uniform(-0.3, 0.3) for _ in range(seeds)]
                )
            }
            for env_id in UNIT
        }
        for number, (name, chance) in enumerate(chances.items())
    }


def _simulate(times: int, *, seeds: int, shared: bool, resamples: int) -> tuple[float, float]:
    """Return how often an interval holds the true score, and how often equal rows are told apart."""
    covered = alarms = 0
    for number in range(times):
        rows = _simulated(random.Random(number), dict.fromkeys("uvwxy", 0.6), seeds, shared=shared)
        board = rank(rows, UNIT, resamples=resamples)
        chosen = next(row.score for row in board.rows if row.name == "u")
        assert chosen.low is not None
        assert chosen.high is not None
        covered += chosen.low <= 0.6 <= chosen.high
        alarms += any(claim.is_sure for claim in board.claims)
    return covered / times, alarms / times


@pytest.mark.parametrize("shared", [True, False])
def test_intervals_hold_and_equal_rows_are_seldom_told_apart(shared: bool) -> None:
    coverage, alarms = _simulate(40, seeds=12, shared=shared, resamples=150)
    assert coverage >= 0.88
    assert alarms <= 0.1


@pytest.mark.long
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seeds", [12, 30])
def test_intervals_hold_and_equal_rows_are_seldom_told_apart_in_many_simulations(shared: bool, seeds: int) -> None:
    coverage, alarms = _simulate(400, seeds=seeds, shared=shared, resamples=400)
    print(f"{seeds} seeds, {'shared' if shared else 'own'}: coverage {coverage:.1%}, alarms {alarms:.1%}")
    assert coverage >= 0.92
    assert alarms <= 0.08


# ------------------------------------------------------------------ strengths

TRUE = {"ann": 1.0, "bob": 0.2, "cat": -0.3, "dan": -0.9}


def _played(draw: random.Random, times: int, advantage: float = 0.5, tie: float = -0.5) -> list[Game]:
    games = []
    for first, second in permutations(TRUE, 2):
        chances = bradley_terry._chances(TRUE[first] - TRUE[second] + advantage, tie)
        games += [Game("g", first, second, draw.choices(("won", "tied", "lost"), chances)[0]) for _ in range(times)]
    return games


def test_strengths_are_those_of_statsmodels_without_a_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Davidson's model is a log-linear model of counts (D. E. Critchlow and M. A. Fligner, 1991)."""
    from statsmodels import api

    for name in ("STRENGTH_DEVIATION", "ADVANTAGE_DEVIATION", "TIE_DEVIATION"):
        monkeypatch.setattr(bradley_terry, name, 1e4)
    games = _played(random.Random(4), 30)
    fitted = fit(games)
    pairs, agents = sorted({one[1:3] for one in games}), sorted(TRUE)
    design, counts = [], []
    for place, (first, second) in enumerate(pairs):
        x = [float(first == name) - float(second == name) for name in agents[1:]] + [1.0]
        for result, half, is_tie in (("won", 0.5, 0.0), ("tied", 0.0, 1.0), ("lost", -0.5, 0.0)):
            design.append(
                [float(place == other) for other in range(len(pairs))] + [half * value for value in x] + [is_tie]
            )
            counts.append(sum(one[1:4] == (first, second, result) for one in games))
    theirs = api.GLM(counts, np.array(design), family=api.families.Poisson()).fit()
    values, errors = theirs.params[len(pairs) :], theirs.bse[len(pairs) :]
    for name, value, error in zip(agents[1:], values, errors, strict=False):
        difference = fitted.difference(name, agents[0])
        assert difference.mean == pytest.approx(value, abs=1e-5)
        assert difference.high - difference.mean == pytest.approx(1.959964 * error, rel=1e-4)
    assert fitted.advantages["g"].mean == pytest.approx(values[-2], abs=1e-5)
    assert fitted.ties["g"] == pytest.approx(values[-1], abs=1e-5)


def test_intervals_of_strengths_hold_in_simulations() -> None:
    covered = total = 0
    for number in range(60):
        fitted = fit(_played(random.Random(number), 10))
        for one, other in permutations(TRUE, 2):
            difference = fitted.difference(one, other)
            covered += difference.low <= TRUE[one] - TRUE[other] <= difference.high
            total += 1
    assert covered / total >= 0.92
    assert fitted.names[0] == "ann"


def test_perfect_records_stay_finite_and_two_games_share_one_strength() -> None:
    games = [
        Game("g", "ann", "bob", "won", 20),
        Game("g", "bob", "ann", "lost", 20),
        Game("h", "bob", "cat", "won", 20),
    ]
    fitted = fit(games)
    assert list(fitted.names) == ["ann", "bob", "cat"]
    assert 1 < fitted.strengths["ann"].mean < 5
    assert all(math.isfinite(value) for name in fitted.names for value in fitted.elo(name))
    assert sum(fitted.strengths[name].mean for name in fitted.names) == pytest.approx(0, abs=1e-9)
    assert set(fitted.advantages) == {"g", "h"}
    assert fitted.elo("bob").mean == pytest.approx(1500 + 400 / math.log(10) * fitted.strengths["bob"].mean)


def test_the_first_seat_s_advantage_is_not_taken_for_strength() -> None:
    games = [Game("g", first, second, "won", 15) for first, second in permutations(("ann", "bob"), 2)]
    fitted = fit(games)
    assert fitted.difference("ann", "bob").mean == pytest.approx(0, abs=1e-9)
    assert fitted.advantages["g"].low > 0


def test_the_pairing_that_tells_most_is_of_those_least_known() -> None:
    games = [Game("g", "ann", "bob", result, 200) for result in ("won", "lost")]
    games += [Game("g", "ann", "cat", result, 2) for result in ("won", "lost")]
    pairing = most_telling(fit(games))
    assert pairing is not None
    assert "cat" in (pairing.first, pairing.second)
    one_sided = [
        Game("g", "ann", "cat", "won", 50),
        Game("g", "ann", "bob", "won", 4),
        Game("g", "ann", "bob", "lost", 4),
    ]
    uneven = most_telling(fit(one_sided))
    assert uneven is not None
    assert {uneven.first, uneven.second} != {"ann", "cat"}
    assert most_telling(fit(games), ["g"]) == pairing


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one game"):
        fit([])
    with pytest.raises(InvalidArgument, match="against itself"):
        fit([Game("g", "ann", "ann", "won")])


# ------------------------------------------------------------------ the front


def test_the_front_has_what_no_other_point_beats() -> None:
    points = [
        Point("cheap and bad", 1, 0.1),
        Point("good", 5, 0.6),
        Point("as good", 5, 0.6),
        Point("dearer and worse", 9, 0.5),
        Point("same cost and worse", 5, 0.3),
        Point("best", 20, 0.9),
        Point("dearer and as good as the best", 30, 0.9),
    ]
    assert [point.name for point in front(points)] == ["cheap and bad", "as good", "good", "best"]
    assert [point.name for point in front(points, floor=0.1)] == ["as good", "good", "best"]
    assert front([]) == []


def test_equal_returns_have_no_interval() -> None:
    scales = {"a": UNIT["a"], "b": UNIT["b"]}
    perfect = {seed: [1.0] for seed in range(20)}
    mixed = {seed: [float(seed % 2)] for seed in range(20)}
    board = rank({"x": {"a": perfect, "b": perfect}, "y": {"a": perfect, "b": mixed}}, scales, resamples=200)
    x, y = board.rows
    assert (x.name, x.score.mean, x.score.low, x.score.high) == ("x", 1.0, None, None)
    assert "equal" in x.score.reason
    assert "the returns of all 20 seeds are equal" in y.scores["a"].reason
    assert y.score.low is not None  # the other environment decides
    assert y.score.low < 0.75 < (y.score.high or 0)
    [claim] = board.claims
    assert claim.low is not None
    [alone] = rank({"x": {"a": perfect, "b": perfect}, "z": {"a": perfect, "b": perfect}}, scales, resamples=50).claims
    assert (alone.low, alone.high) == (None, None)
