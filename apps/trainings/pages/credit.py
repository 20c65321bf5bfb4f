"""How good the credit of each algorithm was during trainings: the files of `gem.studies.credit`."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from gem.credit import ALGORITHMS, Algorithm
from gem.studies import credit
from gem.studies.credit import CreditStudy

WIDTH, HEIGHT = 120, 60
"""Of the box that a curve is drawn in; its height is a correlation from 0 to 1."""


@dataclass(frozen=True)
class CreditRow:
    """The credit of an algorithm in one environment: means over the seeds, and over the updates at which turns differed
    in what they were worth."""

    title: str
    colour: int
    line: str
    """The path of its correlation, update by update."""
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
    def ceiling(self) -> float:
        """The correlation that perfect credit would have, on average."""
        return _mean([p.ceiling for study in self.studies for p in study.points if p.has_signal])

    @property
    def ceiling_line(self) -> str:
        """Its path."""
        return _path([statistics.fmean(p.ceiling for p in points) for points in self._points])

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

    def _row(self, name: Algorithm, colour: int) -> CreditRow:
        means = []
        for points in self._points:
            known = [value for p in points if (value := p.algorithms[name].correlation) is not None]
            means.append(statistics.fmean(known) if known else 0.0)
        known = [value for study in self.studies if (value := study.mean_correlation(name)) is not None]
        biases = [abs(p.algorithms[name].bias) for study in self.studies for p in study.points if p.has_signal]
        correlation = statistics.fmean(known) if known else None
        return CreditRow(ALGORITHMS[name].title, colour, _path(means), correlation, _mean(biases))


def credit_plots() -> list[CreditPlot]:
    """The recipes whose credit was measured."""
    return [CreditPlot(recipe, tuple(credit.read(recipe))) for recipe in credit.recorded()]


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0


def _path(values: Sequence[float]) -> str:
    points = (
        f"{WIDTH * place / max(1, len(values) - 1):.1f} {HEIGHT * (1 - max(0.0, value)):.1f}"
        for place, value in enumerate(values)
    )
    return "M" + " L".join(points)
