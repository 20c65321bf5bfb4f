"""Strengths of agents that played against each other, by a Bradley-Terry model with ties and a term for the seat.

With x = strength of the first seat's agent - strength of the second's + advantage of the first seat, the odds of win,
tie and loss for the first seat are exp(x / 2) : exp(tie) : exp(-x / 2) (R. R. Davidson, On extending the Bradley-Terry
model to accommodate ties, 1970; R. R. Davidson and R. J. Beaver, On extending the Bradley-Terry model to incorporate
within-pair order effects, 1977). The strengths hold for all games, advantage and ties for each game. One fit takes all
games together, and a weak normal prior keeps the strength of an agent finite that has won every game.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gem.errors import InvalidArgument
from gem.evaluation.intervals import Z95, Interval

STRENGTH_DEVIATION = 2.0
"""The standard deviation of the prior of a strength around 0."""
ADVANTAGE_DEVIATION = 1.0
TIE_MEAN, TIE_DEVIATION = -1.0, 2.0
ELO = 400 / math.log(10)
"""Points of the Elo scale for a strength of 1."""
MAX_STEPS = 100
CONVERGED = 1e-10

Result = Literal["won", "tied", "lost"]
"""The result of a game for the first seat."""


class Game(NamedTuple):
    """A game of two seats."""

    game: str
    """The id of the environment."""
    first: str
    """The agent in seat 0."""
    second: str
    result: Result
    times: int = 1
    """How often this happened."""


class Pairing(NamedTuple):
    """A game to play next."""

    game: str
    first: str
    second: str
    information: float
    """The expected information about which of the two is stronger, in nats."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """The fitted model."""

    names: Sequence[str]
    """The agents, the strongest first."""
    strengths: Mapping[str, Interval]
    """The strength of each agent against the mean of all, with its 95 % interval."""
    advantages: Mapping[str, Interval]
    """The advantage of the first seat in each game."""
    ties: Mapping[str, float]
    """The term of ties in each game."""
    variances: Mapping[tuple[str, str], float]
    """The variance of the difference of two strengths, with the names in alphabetical order."""

    def elo(self, name: str) -> Interval:
        """Return the strength on the Elo scale, on which the mean of all agents is 1,500."""
        return Interval(*(1500 + ELO * value for value in self.strengths[name]))

    def difference(self, first: str, second: str) -> Interval:
        """Return the difference of two strengths with its 95 % interval."""
        mean = self.strengths[first].mean - self.strengths[second].mean
        error = math.sqrt(self.variances[min(first, second), max(first, second)])
        return Interval(mean, mean - Z95 * error, mean + Z95 * error)

    def chances(self, game: str, first: str, second: str) -> tuple[float, float, float]:
        """Return the probabilities that the first seat wins, ties and loses."""
        x = self.strengths[first].mean - self.strengths[second].mean + self.advantages[game].mean
        return _chances(x, self.ties[game])


def fit(games: Iterable[Game]) -> Strengths:
    """Fit strengths to games.

    Raises:
        InvalidArgument: if there are no games, or an agent played against itself.
    """
    counts: dict[tuple[str, str, str], list[int]] = {}
    for one in games:
        if one.first == one.second:
            raise InvalidArgument(f"{one.first} played against itself, which says nothing of its strength.")
        row = counts.setdefault((one.game, one.first, one.second), [0, 0, 0])
        row[("won", "tied", "lost").index(one.result)] += one.times
    if not counts:
        raise InvalidArgument("Strengths need at least one game.")
    model = _Model(counts)
    return model.result(*model.maximize())


def most_telling(
    fitted: Strengths, games: Sequence[str] = (), can_play: Callable[[str, str, str], bool] | None = None
) -> Pairing | None:
    """Return the game that tells most about which of two agents is stronger; None with fewer than two agents.

    Its information is log(1 + v i) / 2, where v is the variance of the difference of their strengths, and i the Fisher
    information of one game about it (D. V. Lindley, On a measure of the information provided by an experiment, 1956).

    Args:
        games: the games that can be played; all of the fit if there are none.
        can_play: whether a game, given with the agents in its first and its second seat, can be played; all can without
            it.
    """
    best: Pairing | None = None
    for (one, other), variance in sorted(fitted.variances.items()):
        for game in games or sorted(fitted.advantages):
            for first, second in ((one, other), (other, one)):
                if can_play is not None and not can_play(game, first, second):
                    continue
                won, _, lost = fitted.chances(game, first, second)
                information = math.log1p(variance * (won + lost - (won - lost) ** 2) / 4) / 2
                if best is None or information > best.information * (1 + 1e-12):
                    best = Pairing(game, first, second, information)
    return best


def _chances(x: float, tie: float) -> tuple[float, float, float]:
    largest = max(abs(x) / 2, tie)
    won, tied, lost = math.exp(x / 2 - largest), math.exp(tie - largest), math.exp(-x / 2 - largest)
    total = won + tied + lost
    return won / total, tied / total, lost / total


class _Model:
    """The posterior and its derivatives. The parameters are strengths, then advantages, then ties."""

    def __init__(self, counts: Mapping[tuple[str, str, str], Sequence[int]]) -> None:
        self.agents = sorted({name for _, *both in counts for name in both})
        self.games = sorted({game for game, *_ in counts})
        agent_places = {name: place for place, name in enumerate(self.agents)}
        n, m = len(self.agents), len(self.games)
        game_places = {game: n + place for place, game in enumerate(self.games)}
        self.rows = [
            (agent_places[first], agent_places[second], game_places[game], game_places[game] + m, *row)
            for (game, first, second), row in sorted(counts.items())
        ]
        self.means = [0.0] * (n + m) + [TIE_MEAN] * m
        deviations = [STRENGTH_DEVIATION] * n + [ADVANTAGE_DEVIATION] * m + [TIE_DEVIATION] * m
        self.precisions = [deviation**-2 for deviation in deviations]

    def maximize(self) -> tuple[list[float], list[list[float]]]:
        """Return the parameters of the highest posterior by Newton's method, and the inverse of its curvature."""
        values = list(self.means)
        height = self._height(values)
        for _ in range(MAX_STEPS):
            gradient, curvature = self._derivatives(values)
            step = _solve(_cholesky(curvature), gradient)
            scale = 1.0
            while True:
                moved = [value + scale * change for value, change in zip(values, step, strict=True)]
                new_height = self._height(moved)
                if new_height >= height - 1e-12 or scale < 1e-6:
                    break
                scale /= 2
            values, height = moved, new_height
            if max(map(abs, step)) * scale < CONVERGED:
                break
        factor = _cholesky(self._derivatives(values)[1])
        size = len(values)
        inverse = [_solve(factor, [float(i == j) for j in range(size)]) for i in range(size)]
        return values, inverse

    def result(self, values: Sequence[float], covariance: Sequence[Sequence[float]]) -> Strengths:
        """Return the fitted model from parameters and covariance."""
        n, m = len(self.agents), len(self.games)
        mean = math.fsum(values[:n]) / n
        row_means = [math.fsum(covariance[i][:n]) / n for i in range(n)]
        overall = math.fsum(row_means) / n
        strengths = {
            name: _interval(values[i] - mean, covariance[i][i] - 2 * row_means[i] + overall)
            for i, name in enumerate(self.agents)
        }
        return Strengths(
            sorted(self.agents, key=lambda name: (-strengths[name].mean, name)),
            strengths,
            {game: _interval(values[n + k], covariance[n + k][n + k]) for k, game in enumerate(self.games)},
            {game: values[n + m + k] for k, game in enumerate(self.games)},
            {
                (one, other): max(0.0, covariance[i][i] + covariance[j][j] - 2 * covariance[i][j])
                for i, one in enumerate(self.agents)
                for j, other in enumerate(self.agents)
                if i < j
            },
        )

    def _height(self, values: Sequence[float]) -> float:
        """Return the logarithm of the posterior, up to a constant."""
        height = -sum(
            precision * (value - mean) ** 2 / 2
            for value, mean, precision in zip(values, self.means, self.precisions, strict=True)
        )
        for first, second, advantage, tie, *counts in self.rows:
            chances = _chances(values[first] - values[second] + values[advantage], values[tie])
            height += sum(
                count * math.log(max(chance, 1e-300)) for count, chance in zip(counts, chances, strict=True) if count
            )
        return height

    def _derivatives(self, values: Sequence[float]) -> tuple[list[float], list[list[float]]]:
        """Return the gradient, and the negative second derivatives."""
        size = len(values)
        gradient = [
            precision * (mean - value)
            for value, mean, precision in zip(values, self.means, self.precisions, strict=True)
        ]
        curvature = [[0.0] * size for _ in range(size)]
        for place, precision in enumerate(self.precisions):
            curvature[place][place] = precision
        for first, second, advantage, tie, won, tied, lost in self.rows:
            n = won + tied + lost
            win, draw, loss = _chances(values[first] - values[second] + values[advantage], values[tie])
            by_x = (won - lost - n * (win - loss)) / 2
            in_x = ((first, 1.0), (second, -1.0), (advantage, 1.0))
            for place, sign in in_x:
                gradient[place] += sign * by_x
            gradient[tie] += tied - n * draw
            square = n * (win + loss - (win - loss) ** 2) / 4
            mixed = -n * (win - loss) * draw / 2
            for place, sign in in_x:
                for other, other_sign in in_x:
                    curvature[place][other] += sign * other_sign * square
                curvature[place][tie] += sign * mixed
                curvature[tie][place] += sign * mixed
            curvature[tie][tie] += n * draw * (1 - draw)
        return gradient, curvature


def _interval(mean: float, variance: float) -> Interval:
    error = math.sqrt(max(0.0, variance))
    return Interval(mean, mean - Z95 * error, mean + Z95 * error)


def _cholesky(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the lower triangle whose product with its transpose is the matrix, which is positive definite."""
    lower: list[list[float]] = []
    for i, row in enumerate(matrix):
        own: list[float] = []
        for j in range(i):
            own.append((row[j] - sum(a * b for a, b in zip(own, lower[j], strict=False))) / lower[j][j])
        own.append(math.sqrt(max(1e-300, row[i] - sum(a * a for a in own))))
        lower.append(own)
    return lower


def _solve(lower: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a system of equations whose matrix has this Cholesky factor."""
    size = len(right)
    middle: list[float] = []
    for i in range(size):
        middle.append((right[i] - sum(a * b for a, b in zip(lower[i], middle, strict=False))) / lower[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (middle[i] - sum(lower[j][i] * found[j] for j in range(i + 1, size))) / lower[i][i]
    return found
