"""How good the credit of each algorithm was during trainings: the files of `gem.studies.credit`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gem.credit import ALGORITHMS, Algorithm
from gem.studies import credit
from gem.studies.credit import CreditStudy

WIDTH, HEIGHT = 120, 60
"""Of the box that a curve is drawn in."""
LOWEST_CORRELATION = -0.2
"""At the lower edge of its box; the upper edge is 1."""


@dataclass(frozen=True)
class CreditRow:
    """The credit of an algorithm in one environment: means over the seeds, and over the updates at which turns differed
    in what they were worth."""

    title: str
    colour: int
    line: str
    """The path of its correlation, update by update."""
    bias_line: str
    """The path of its bias."""
    correlation: float | None
    bias: float


@dataclass(frozen=True)
class CreditPlot:
    """What was measured in the trainings of one recipe."""

    recipe: str
    studies: tuple[CreditStudy, ...]

    @property
    def env_id(self) -> str:
        """The environment."""
        return self.studies[0].env_id

    @property
    def turns(self) -> int:
        """Number of turns whose true advantage was measured."""
        return sum(point.turns for study in self.studies for point in study.points)

    @property
    def rows(self) -> list[CreditRow]:
        """Each algorithm, the one with the highest correlation first."""
        rows = [self._row(name, colour) for colour, name in enumerate(ALGORITHMS, 1)]
        return sorted(rows, key=lambda row: -(row.correlation or 0.0))

    @property
    def is_exact(self) -> bool:
        """Whether the truth was computed in all of them, and not measured by forking."""
        return all(study.truth == "exact" for study in self.studies)

    @property
    def ceiling(self) -> float:
        """The correlation that perfect credit would have, on average."""
        return _mean([p.ceiling for study in self.studies for p in study.points if p.has_signal])

    @property
    def ceiling_line(self) -> str:
        """Its path."""
        return _correlation_path([statistics.fmean(p.ceiling for p in points) for points in self._points])

    @property
    def zero_line(self) -> str:
        """The path of a correlation of 0."""
        return _correlation_path([0.0] * len(self._points))

    @property
    def bias_limit(self) -> float:
        """The bias at the edges of its box."""
        biases = [abs(value) for name in ALGORITHMS for value in self._biases(name)]
        return max(0.5, *biases) if biases else 0.5

    @property
    def return_line(self) -> str:
        """The path of the mean return, from the lowest to the highest of it."""
        low, high = self.returns
        return _path(self._returns, low, max(high, low + 1e-9))

    @property
    def returns(self) -> tuple[float, float]:
        """The lowest and the highest mean return."""
        return min(self._returns), max(self._returns)

    @property
    def solved_line(self) -> str:
        """The path of the share solved, from 0 to 1."""
        return _path([statistics.fmean(point.success for point in points) for points in self._points], 0.0, 1.0)

    @property
    def solved(self) -> tuple[float, float]:
        """The share solved at the beginning and at the end."""
        first, *_, last = self._points
        return statistics.fmean(point.success for point in first), statistics.fmean(point.success for point in last)

    @property
    def in_words(self) -> str:
        """The correlations, for those who do not see the curves."""
        return ", ".join(f"{row.title} {row.correlation or 0:.2f}" for row in self.rows)

    @property
    def _points(self) -> list[tuple[credit.CreditPoint, ...]]:
        return list(zip(*(study.points for study in self.studies), strict=False))

    @property
    def _returns(self) -> list[float]:
        return [statistics.fmean(point.mean_return for point in points) for points in self._points]

    def _biases(self, name: Algorithm) -> list[float]:
        return [statistics.fmean(point.algorithms[name].bias for point in points) for points in self._points]

    def _row(self, name: Algorithm, colour: int) -> CreditRow:
        means = []
        for points in self._points:
            known = [value for p in points if (value := p.algorithms[name].correlation) is not None]
            means.append(statistics.fmean(known) if known else 0.0)
        known = [value for study in self.studies if (value := study.mean_correlation(name)) is not None]
        biases = [abs(p.algorithms[name].bias) for study in self.studies for p in study.points if p.has_signal]
        correlation = statistics.fmean(known) if known else None
        limit = self.bias_limit
        return CreditRow(
            ALGORITHMS[name].title,
            colour,
            _correlation_path(means),
            _path(self._biases(name), -limit, limit),
            correlation,
            _mean(biases),
        )


def credit_plots() -> list[CreditPlot]:
    """The recipes whose credit was measured."""
    return [CreditPlot(recipe, tuple(credit.read(recipe))) for recipe in credit.recorded()]


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def _correlation_path(values: Sequence[float]) -> str:
    return _path(values, LOWEST_CORRELATION, 1.0)


def _path(values: Sequence[float], low: float, high: float) -> str:
    """A line through values, update by update, in a box from `low` to `high`."""
    points = (
        f"{WIDTH * place / max(1, len(values) - 1):.1f} "
        f"{HEIGHT * (1 - (min(max(value, low), high) - low) / (high - low)):.1f}"
        for place, value in enumerate(values)
    )
    return "M" + " L".join(points)
