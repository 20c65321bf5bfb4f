"""What a study shows so far: a row for each variant, the differences that the seeds allow, and sentences."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from gem.evaluation.intervals import Interval
from gem.evaluation.scores import student_t_interval
from gem.studies import statistics
from gem.studies.matrix import Matrix, matrix
from gem.studies.results import ReadOnce, Results, RunResult
from gem.studies.statistics import FEWEST_SEEDS
from gem.studies.study import Study
from gem.studies.turns import TurnsUsed, turns_used


class Cell(NamedTuple):
    """The trainings of a variant in one environment."""

    environment: str
    runs: tuple[RunResult, ...]

    @property
    def success(self) -> float:
        """The mean share of held-out episodes that is solved."""
        return _mean([run.success for run in self.runs])

    @property
    def shares(self) -> list[float]:
        """That share for each seed."""
        return [run.success for run in self.runs]

    @property
    def interval(self) -> Interval | None:
        """The mean share with its 95 % interval over seeds (Student's t); None with fewer than `FEWEST_SEEDS`."""
        if len(self.runs) < FEWEST_SEEDS:
            return None
        mean, low, high = student_t_interval(self.shares)
        return Interval(mean, max(0.0, low), min(1.0, high))

    @property
    def area(self) -> float:
        """The mean area under the curves."""
        return _mean([run.area for run in self.runs])

    @property
    def tuned(self) -> Any:
        """The value that the tuned setting has; None if nothing is tuned."""
        return self.runs[0].tuned

    @property
    def curve(self) -> list[float]:
        """The mean share solved during the training, point by point."""
        return [_mean(column) for column in zip(*(run.curve for run in self.runs), strict=False)]


@dataclass(frozen=True)
class Row:
    """A variant with all its trainings."""

    name: str
    title: str
    cells: tuple[Cell, ...]

    @property
    def scores(self) -> statistics.Scores:
        """The shares of each seed in each environment."""
        return [cell.shares for cell in self.cells]

    @cached_property
    def resampled_means(self) -> list[float]:
        """The interquartile means of bootstrap samples."""
        return statistics.resampled_means(self.scores, zlib.crc32(self.name.encode()))

    @cached_property
    def aggregate(self) -> Interval:
        """The interquartile mean over all trainings, with its interval."""
        return statistics.aggregate(self.scores, self.resampled_means)

    @property
    def interval(self) -> Interval | None:
        """`aggregate`, if there are at least `FEWEST_SEEDS` seeds in each environment: with fewer, a bootstrap says
        nothing about how far other seeds would be."""
        return self.aggregate if min(len(cell.runs) for cell in self.cells) >= FEWEST_SEEDS else None

    @cached_property
    def profile(self) -> list[Interval]:
        """The share of its trainings that solve more than each of `statistics.THRESHOLDS`, with pointwise intervals.

        Source: Agarwal et al. (arXiv 2108.13264), section 4.2: performance profiles as distributions of scores.
        """
        return statistics.profile(self.scores, statistics.THRESHOLDS)

    @property
    def area(self) -> float:
        """The mean area under the curves."""
        return _mean([cell.area for cell in self.cells])

    @property
    def cpu_seconds(self) -> float:
        """The mean CPU time of a training."""
        return _mean([run.cpu_seconds for cell in self.cells for run in cell.runs])


class Difference(NamedTuple):
    """How much more one variant solves than another."""

    better: str
    other: str
    interval: Interval
    """Of the difference of means over environments; all of the study hold together with 95 % (Welch's t, Bonferroni).
    """
    improvement: Interval
    """The probability that a training of the first scores higher than one of the second."""

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.interval.low > 0


@dataclass(frozen=True)
class Report:
    """The results of a study, complete or not."""

    study: Study
    done: int
    total: int
    cpu_seconds: float
    rows: tuple[Row, ...]
    """The variants, the one that solves most first; none before every variant has a result in some environment."""
    untrained: Mapping[str, RunResult] = field(default_factory=dict)
    """What the first policies solve before any training, by their names."""

    @property
    def is_complete(self) -> bool:
        """Whether every training was made."""
        return self.done == self.total

    @property
    def environments(self) -> list[str]:
        """The environments with results."""
        return [cell.environment for cell in self.rows[0].cells] if self.rows else []

    @property
    def fewest_seeds(self) -> int:
        """The smallest number of seeds of an environment that count."""
        return min((len(cell.runs) for row in self.rows for cell in row.cells), default=0)

    @property
    def seeds_needed(self) -> int:
        """The number of seeds in each environment from which on an order of the variants may be claimed."""
        return statistics.seeds_needed(math.comb(len(self.rows), 2))

    @cached_property
    def differences(self) -> list[Difference]:
        """Every pair of variants, the one that solves more first; none with fewer than `seeds_needed` seeds."""
        found = statistics.differences([row.scores for row in self.rows], self.study.episodes)
        return [
            Difference(
                self.rows[better].title,
                self.rows[other].title,
                interval,
                statistics.improvement(self.rows[better].scores, self.rows[other].scores),
            )
            for (better, other), interval in found.items()
        ]

    @cached_property
    def matrix(self) -> Matrix | None:
        """What policies solve in environments that they were not trained in; None if the study measures none."""
        runs = {
            environment: [run for row in self.rows for run in row.cells[place].runs]
            for place, environment in enumerate(self.environments)
        }
        return matrix(self.study, runs, self.untrained)

    @cached_property
    def turns_used(self) -> list[TurnsUsed]:
        """The turns of the variants in environments whose optimum is known."""
        ordered = sorted(self.rows, key=lambda row: list(self.study.variants).index(row.name))
        axis = self.study.axis
        positions = {row.name: float(self.study.variants[row.name].settings[axis]) for row in ordered} if axis else {}
        found = [
            turns_used(environment, optimum, ordered, positions)
            for environment, optimum in self.study.optimum_turns.items()
        ]
        return [one for one in found if one is not None]

    @property
    def sentences(self) -> list[str]:
        """What may be said, and what the results leave out."""
        turns = [sentence for one in self.turns_used for sentence in one.sentences]
        found = [*self._progress(), *self._orders(), *turns, *self._transfers(), *self._tool_use(), *self.study.notes]
        return found or ["The study has one variant, so nothing is compared."]

    def _progress(self) -> list[str]:
        if not self.rows:
            return [f"{self.done} of {self.total} runs were made: too few for a comparison."]
        if self.is_complete:
            return []
        missing = [name for name in self.study.environments if name not in self.environments]
        sentence = (
            f"{self.done} of {self.total} runs were made; in each environment, only the seeds that every variant "
            f"has are counted: {self.fewest_seeds} of {self.study.seeds} at least."
        )
        return [sentence] + ([f"Nothing is counted yet for {', '.join(missing)}."] if missing else [])

    def _orders(self) -> list[str]:
        if len(self.rows) < 2:
            return []
        if not self.differences:
            return [f"With fewer than {self.seeds_needed} seeds, nothing is said about an order."]
        clear = [self._order(row.title) for row in self.rows if any(self._clear(row.title))]
        open_pairs = [f"{one.better} and {one.other}" for one in self.differences if not one.is_clear]
        if not clear:
            return [_no_order(self.differences)]
        return clear + ([f"Too close to call: {'; '.join(open_pairs)}."] if open_pairs else [])

    def _clear(self, better: str) -> list[Difference]:
        """The differences that show that a variant solves more."""
        return [one for one in self.differences if one.better == better and one.is_clear]

    def _order(self, better: str) -> str:
        parts = [f"more than {one.other} by {_points(one.interval)}" for one in self._clear(better)]
        parts[0] += " points"
        sentence = ", ".join(parts[:-1]) + (", and " if parts[1:] else "") + parts[-1]
        return f"{better[0].upper()}{better[1:]} solves {sentence}."

    def _tool_use(self) -> list[str]:
        return [
            f"{cell.environment}, {row.title}: {_mean([run.tool_calls for run in cell.runs]):.2f} tool calls in an "
            f"episode after training."
            for row in self.rows
            for cell in row.cells
            if any(run.tool_calls for run in cell.runs)
        ]

    def _transfers(self) -> list[str]:
        return self.matrix.sentences if self.matrix else []


def _no_order(differences: Sequence[Difference]) -> str:
    """What is said where no difference is clear: the only one, or the largest."""
    largest = max(differences, key=lambda one: one.interval.mean)
    which, points = f"between {largest.better} and {largest.other}", f"{_points(largest.interval)} points"
    if len(differences) == 1:
        return f"These trainings show no order: the difference {which} is {points} and may be zero."
    return f"These trainings show no order: every difference may be zero. The largest, {which}, is {points}."


def report(results: Results) -> Report:
    """Read the results of a study."""
    results = ReadOnce(results)
    study, finished = results.study, results.finished()
    rows = [
        Row(
            name,
            variant.title,
            tuple(Cell(environment, tuple(by_variant[name].values())) for environment, by_variant in finished.items()),
        )
        for name, variant in study.variants.items()
    ]
    counted = [row for row in rows if row.cells]
    counted.sort(key=lambda row: -row.aggregate.mean)
    return Report(study, results.done, results.total, results.cpu_seconds, tuple(counted), results.untrained())


def _points(interval: Interval) -> str:
    """A difference of shares in points, with the ends of its interval: 12 (5 to 19)."""
    return f"{100 * interval.mean:.0f} ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
