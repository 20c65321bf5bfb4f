"""The board of a benchmark: the score of each row with its interval, and the ranks that the rows may have.

The score of an environment is (mean return - random) / (anchor - random), of which what is below 0 counts as 0 and what
is above 1 as 1; only the first benchmark does not clip it. The score of the benchmark is the mean over its
environments.

Intervals come from a bootstrap over seeds: in each environment, as many seeds are drawn with replacement as were
played, and the clipped score is computed anew. All tries and seats of a seed stay together. Rows that played the same
seeds of an environment get the same draws, so that their difference is that of pairs. More than `MOST_DRAWN` seeds are
put into that many groups, which are drawn instead: the work is bounded, and the groups tell the spread as well.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist, fmean, pstdev

from gem.benchmarks import Rule, normalize, score
from gem.errors import InvalidArgument
from gem.evaluation.comparison.differences import holm, stratified_spread
from gem.evaluation.comparison.ranks import RankInterval, rank_intervals
from gem.evaluation.intervals import MIN_SEEDS, SAME, Estimate, equal_reason, few_reason, student_quantile
from gem.evaluation.scores import EACH_EQUAL

RESAMPLES = 2_000
MOST_DRAWN = 1_000
"""The most that a resample draws in an environment."""
MAX_ERROR = 0.05
"""The probability that any of the claims about who is better is wrong."""
_NORMAL = NormalDist()
_MIN_COUNTED = 20
"""So many resamples have to speak against a claim for their share to be used; below, it is a normal tail."""

Returns = Mapping[str, Mapping[int, Sequence[float]]]
"""The returns of a row by environment and seed: those of all its tries and seats."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The two returns that are 0 and 1 in an environment."""

    random_return: float
    anchor_return: float
    rule: Rule = "clipped"

    def score(self, mean_return: float) -> float:
        """Return the score of a mean return."""
        return score(mean_return, self.random_return, self.anchor_return, self.rule)


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A row of the board."""

    name: str
    score: Estimate
    """The score of the benchmark."""
    scores: Mapping[str, Estimate]
    """The clipped score of each environment."""
    ranks: RankInterval
    """From 1 and the number of rows surely better, to the number of rows less those surely worse."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The comparison of two rows."""

    first: str
    second: str
    difference: float
    """The score of the first row minus that of the second."""
    low: float | None
    high: float | None
    """The ends of the 95 % interval of the difference, before Holm's correction; None below `MIN_SEEDS` seeds, or if
    neither row has returns that differ."""
    p_value: float
    p_adjusted: float
    """The p-value after Holm's correction over all pairs of the board."""

    @property
    def is_sure(self) -> bool:
        """Whether one of the two rows is surely better."""
        return self.p_adjusted < MAX_ERROR


@dataclass(frozen=True, slots=True)
class Board:
    """The ranking of a benchmark, the best row first."""

    rows: Sequence[RankedRow]
    claims: Sequence[Claim]
    """One for each pair of rows."""


def rank(rows: Mapping[str, Returns], scales: Mapping[str, Scale], resamples: int = RESAMPLES) -> Board:
    """Rank rows by their score. The result depends neither on the order of the rows nor on chance.

    Args:
        rows: the returns of each row, by its name.
        scales: the environments of the benchmark.

    Raises:
        InvalidArgument: if a row has no episode of an environment, or one that the benchmark does not have.
    """
    samples = {name: _RowSample(name, returns, scales) for name, returns in rows.items()}
    for env_id in scales:
        groups: dict[tuple[int, ...], list[_RowSample]] = {}
        for sample in samples.values():
            groups.setdefault(tuple(sorted(sample.returns[env_id])), []).append(sample)
        for seeds, group in groups.items():
            _resample(env_id, seeds, group, scales[env_id], resamples)
    ordered = sorted(samples.values(), key=lambda sample: (-sample.mean, sample.name))
    pairs = list(combinations(range(len(ordered)), 2))
    freedoms = [_freedom(ordered[i], ordered[j]) for i, j in pairs]
    p_values = [_p_value(ordered[i], ordered[j], freedom) for (i, j), freedom in zip(pairs, freedoms, strict=True)]
    claims = [
        _claim(ordered[i], ordered[j], freedom, p_value, p_adjusted)
        for (i, j), freedom, p_value, p_adjusted in zip(pairs, freedoms, p_values, holm(p_values), strict=True)
    ]
    decided = [pair for pair, claim in zip(pairs, claims, strict=True) if claim.is_sure]
    ranks = rank_intervals(len(ordered), decided)
    ranked = [
        RankedRow(sample.name, sample.estimate(), sample.estimates(), interval)
        for sample, interval in zip(ordered, ranks, strict=True)
    ]
    return Board(ranked, claims)


class _RowSample:
    """A row and its resampled scores."""

    def __init__(self, name: str, returns: Returns, scales: Mapping[str, Scale]) -> None:
        self.name = name
        self.returns = {env_id: {s: own for s, own in seeds.items() if own} for env_id, seeds in returns.items()}
        missing = next((env_id for env_id in scales if not self.returns.get(env_id)), None)
        unknown = next((env_id for env_id in returns if env_id not in scales), None)
        if missing or unknown:
            raise InvalidArgument(f"The row {name} has {f'no episode of {missing}' if missing else unknown!r}.")
        self.means = {
            env_id: scale.score(fmean([value for own in self.returns[env_id].values() for value in own]))
            for env_id, scale in scales.items()
        }
        self.mean = fmean(self.means.values())
        self.resampled: dict[str, list[float]] = {}
        """The score of each environment in each resample."""
        self.scores: list[float] = []
        """The sum of the scores in each resample."""
        self.normalized = {
            env_id: {
                seed: normalize(fmean(own), scale.random_return, scale.anchor_return) for seed, own in seeds.items()
            }
            for env_id, scale in scales.items()
            for seeds in [self.returns[env_id]]
        }
        """The score of each seed before it is clipped, by environment."""
        spread = stratified_spread({env_id: list(seeds.values()) for env_id, seeds in self.normalized.items()})
        self.freedom = spread.freedom if spread else 1.0
        """The degrees of freedom of the standard error of the score."""
        self.seeds = sum(map(len, self.returns.values()))
        self.equal = {env_id for env_id, seeds in self.returns.items() if _are_equal(seeds)}
        """The environments in which all returns are equal, so that nothing is known of their spread."""

    def add(self, env_id: str, scores: list[float]) -> None:
        self.resampled[env_id] = scores
        self.scores = [a + b for a, b in zip(self.scores, scores, strict=True)] if self.scores else scores

    def estimate(self) -> Estimate:
        if self.seeds < MIN_SEEDS:
            return Estimate(self.mean, None, None, self.seeds, few_reason(self.seeds))
        if not self.shows_spread:
            return Estimate(self.mean, None, None, self.seeds, EACH_EQUAL)
        count = len(self.returns)
        low, high = _ends([total / count for total in self.scores], self.freedom)
        return Estimate(self.mean, low, high, self.seeds)

    @property
    def shows_spread(self) -> bool:
        """Whether the returns differ in an environment. Where they do not, the other environments decide."""
        return len(self.equal) < len(self.returns)

    def estimates(self) -> dict[str, Estimate]:
        found = {}
        for env_id, mean in self.means.items():
            n = len(self.returns[env_id])
            if n < MIN_SEEDS:
                found[env_id] = Estimate(mean, None, None, n, few_reason(n))
            elif env_id in self.equal:
                found[env_id] = Estimate(mean, None, None, n, equal_reason(n, "returns"))
            else:
                found[env_id] = Estimate(mean, *_ends(self.resampled[env_id], n - 1), n)
        return found


def _are_equal(seeds: Mapping[int, Sequence[float]]) -> bool:
    values = [value for own in seeds.values() for value in own]
    low, high = min(values), max(values)
    return high - low <= SAME * max(1.0, abs(low), abs(high))


def _resample(env_id: str, seeds: tuple[int, ...], rows: Sequence[_RowSample], scale: Scale, resamples: int) -> None:
    """Draw seeds again and again, and add the scores of all rows that played them.

    Deviations from the mean are enlarged by sqrt(n / (n - 1)), without which the variance of a bootstrap with few seeds
    is too small by that factor squared (J. N. K. Rao and C. F. J. Wu, Resampling inference with complex survey data,
    1988).
    """
    groups = [seeds[first::MOST_DRAWN] for first in range(min(len(seeds), MOST_DRAWN))]
    n = len(groups)
    draw = random.Random(f"{env_id} {' '.join(map(str, seeds))}")
    places = range(n)
    draws = [array("H", draw.choices(places, k=n)) for _ in range(resamples)]
    factor = math.sqrt(n / (n - 1)) if n > 1 else 0.0
    for row in rows:
        own = row.returns[env_id]
        sums = [math.fsum(value for seed in group for value in own[seed]) for group in groups]
        counts = [sum(len(own[seed]) for seed in group) for group in groups]
        mean = math.fsum(sums) / sum(counts)
        if len(set(counts)) == 1:
            total = n * counts[0]
            means = [sum(map(sums.__getitem__, drawn)) / total for drawn in draws]
        else:
            means = [sum(map(sums.__getitem__, drawn)) / sum(map(counts.__getitem__, drawn)) for drawn in draws]
        row.add(env_id, [scale.score(mean + factor * (resampled - mean)) for resampled in means])


def _ends(values: Sequence[float], freedom: float) -> tuple[float, float]:
    """Return the ends of the percentile interval, at the levels of Student's t instead of the normal distribution.

    (T. C. Hesterberg, What teachers should know about the bootstrap, 2015: the expanded percentile interval.)
    """
    level = _NORMAL.cdf(-student_quantile(max(1.0, freedom))) if freedom >= 3 else 0.0
    ordered = sorted(values)
    last = len(ordered) - 1
    return _at(ordered, level * last), _at(ordered, (1 - level) * last)


def _at(ordered: Sequence[float], place: float) -> float:
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _p_value(first: _RowSample, second: _RowSample, freedom: float) -> float:
    """Return the two-sided p-value of the difference of two scores, from their resamples.

    It is the share of resamples that point the other way. Below `_MIN_COUNTED` of them it is the tail of Student's
    t-distribution, because Holm's correction needs smaller p-values than a share of some thousand resamples can be.
    It is never below that of a sign-flip test in which all seeds agree.
    """
    count = len(first.returns)
    difference = first.mean - second.mean
    seeds = min(first.seeds, second.seeds)
    if abs(difference) <= SAME or seeds < MIN_SEEDS:
        return 1.0
    differences = [(a - b) / count for a, b in zip(first.scores, second.scores, strict=True)]
    error = pstdev(differences)
    smallest = 2.0 ** (1 - seeds)
    if error <= SAME:
        return smallest
    other_way = sum(value * difference <= 0 for value in differences)
    tail = 2 * _NORMAL.cdf(-_as_normal(abs(difference) / error, freedom))
    if other_way >= _MIN_COUNTED:
        tail = max(tail, 2 * other_way / len(differences))
    return min(1.0, max(smallest, tail))


def _claim(first: _RowSample, second: _RowSample, freedom: float, p_value: float, p_adjusted: float) -> Claim:
    low = high = None
    if min(first.seeds, second.seeds) >= MIN_SEEDS and (first.shows_spread or second.shows_spread):
        count = len(first.returns)
        differences = [(a - b) / count for a, b in zip(first.scores, second.scores, strict=True)]
        low, high = _ends(differences, freedom)
    return Claim(first.name, second.name, first.mean - second.mean, low, high, p_value, p_adjusted)


def _freedom(first: _RowSample, second: _RowSample) -> float:
    """Return the degrees of freedom of a difference (F. E. Satterthwaite, 1946).

    Where both rows played the same seeds of an environment, their differences are the observations; elsewhere the two
    rows are independent (B. L. Welch, 1947).
    """
    same = [env_id for env_id, seeds in first.normalized.items() if seeds.keys() == second.normalized[env_id].keys()]
    others = [env_id for env_id in first.normalized if env_id not in same]
    parts = [(len(same), {env_id: _differences(first, second, env_id) for env_id in same})]
    parts += [
        (len(others), {env_id: list(row.normalized[env_id].values()) for env_id in others}) for row in (first, second)
    ]
    found = [(count, spread) for count, strata in parts if strata and (spread := stratified_spread(strata))]
    variances = [((count * spread.error) ** 2, spread.freedom) for count, spread in found]
    variance = sum(part for part, _ in variances)
    return variance**2 / sum(part**2 / freedom for part, freedom in variances) if variance else 1.0


def _differences(first: _RowSample, second: _RowSample, env_id: str) -> list[float]:
    """Return the difference of each seed of an environment that both rows played."""
    others = second.normalized[env_id]
    return [value - others[seed] for seed, value in first.normalized[env_id].items()]


def _as_normal(t: float, freedom: float) -> float:
    """Return the quantile of the normal distribution that corresponds to one of Student's (D. L. Wallace, 1959)."""
    return (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(t * t / freedom))
