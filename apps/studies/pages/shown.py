"""The figures of a study as pages draw them: numbers become places in boxes of 100 by 100."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from apps.pictures import NO_BREAK
from gem.evaluation.intervals import Interval
from gem.studies.matrix import Matrix, Transfer
from gem.studies.report import Cell, Report, Row
from gem.studies.statistics import FEWEST_SEEDS, THRESHOLDS
from gem.studies.study import Study as Plan
from gem.studies.turns import TurnsUsed

COLOURS = 8
DASHES = ("", "a", "b", "c")
"""The dashes of lines (`data-dash`), so that variants differ in more than their colours."""
PROFILE_COLUMNS = (0.0, 0.25, 0.5, 0.75, 0.9)
"""The shares in the table behind the performance profiles."""
CURVE_POINTS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The parts of a training in the table behind the curves."""


class Style(NamedTuple):
    """How a variant is drawn everywhere."""

    colour: int
    dash: str


class Line(NamedTuple):
    """A curve with its band, as paths."""

    title: str
    style: Style
    path: str
    band: str


@dataclass(frozen=True)
class Ranked:
    """A variant in the table of interquartile means."""

    row: Row
    style: Style
    scale: tuple[float, float]
    """The ends of the common scale."""

    @property
    def aggregate(self) -> Interval:
        """The share solved, over all environments."""
        return self.row.aggregate

    @property
    def interval(self) -> Interval | None:
        """The same, if there is an interval."""
        return self.row.interval

    @property
    def places(self) -> Interval:
        """Where the mean and the ends of its interval are on the scale, in per cent."""
        low, high = self.scale
        return Interval(*(round(100 * (value - low) / (high - low), 1) for value in self.row.aggregate))

    @property
    def in_words(self) -> str:
        """The share solved, with its interval if there is one, for those who do not see the picture."""
        mean, low, high = (_percent(share, 1) for share in self.row.aggregate)
        return f"{mean}, 95 % interval {low} to {high}" if self.row.interval else mean

    @property
    def profile_cells(self) -> list[Interval]:
        """The profile at the shares of the table behind it."""
        return [self.row.profile[THRESHOLDS.index(share)] for share in PROFILE_COLUMNS]


@dataclass(frozen=True)
class Plot:
    """The curves of all variants in one environment."""

    environment: str
    env_id: str
    cells: tuple[tuple[Row, Cell], ...]
    lines: tuple[Line, ...]

    @property
    def seeds(self) -> int:
        """How many each variant has."""
        return len(self.cells[0][1].runs)

    @property
    def in_words(self) -> str:
        """What each variant solves at the end, for those who do not see the curves."""
        return ", ".join(f"{row.title} solves {_percent(cell.success)}" for row, cell in self.cells)

    @property
    def table(self) -> list[tuple[str, list[float]]]:
        """The share solved at some parts of the training, by variant."""
        return [(row.title, [_at(cell.curve, part) for part in CURVE_POINTS]) for row, cell in self.cells]


class Tick(NamedTuple):
    """A place on an axis, in per cent, with its label."""

    place: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A mean with its interval over the axis of a study."""

    title: str
    label: str
    """On the axis."""
    x: float
    y: float
    top: float
    bottom: float
    words: str


@dataclass(frozen=True)
class Dots:
    """Means with intervals over the axis of a study."""

    title: str
    note: str
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    reference: Tick | None

    @property
    def path(self) -> str:
        """The line through the means."""
        return _path((mark.x, mark.y) for mark in self.marks)

    @property
    def in_words(self) -> str:
        """The means, for those who do not see the picture."""
        return "; ".join(f"{mark.title}: {mark.words}" for mark in self.marks)


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the matrix, with the darkness of its ground."""

    cell: Transfer

    @property
    def tint(self) -> int | None:
        """From 0 to 10: how much of the gain of training there it has; None if that gain is not known."""
        gain = self.cell.gain
        return None if gain is None else round(10 * min(1.0, max(0.0, gain)))

    @property
    def text(self) -> str:
        """The share in per cent."""
        return f"{100 * self.cell.share.mean:.0f}"

    @property
    def in_words(self) -> str:
        """What it says, for those who point at it."""
        cell = self.cell
        before = "" if cell.before is None else f", {_percent(cell.before.mean)} before any training"
        known = cell.share.interval
        interval = "" if known is None else f" ({_percent(known.low)} to {_percent(known.high)})"
        return (
            f"Trained in {cell.trained_in}, measured in {cell.measured_in}: solves {_percent(cell.share.mean)}"
            f"{interval}{before}"
        )


class MatrixRow(NamedTuple):
    """A row of the matrix."""

    trained_in: str
    cells: tuple[MatrixCell | None, ...]


@dataclass(frozen=True)
class Shown:
    """A study on its page."""

    report: Report

    @property
    def study(self) -> Plan:
        """The plan."""
        return self.report.study

    @property
    def cpu_hours(self) -> float:
        """CPU hours of all runs that were made."""
        return self.report.cpu_seconds / 3600

    @property
    def seeds(self) -> int:
        """The smallest number of seeds of an environment that count."""
        return self.report.fewest_seeds

    def style(self, variant: str) -> Style:
        """How a variant is drawn."""
        place = list(self.study.variants).index(variant)
        return Style(1 + (place + 3) % COLOURS, DASHES[place % len(DASHES)])

    @cached_property
    def ranked(self) -> list[Ranked]:
        """The variants, the one that solves most first."""
        scale = self.scale
        return [Ranked(row, self.style(row.name), scale) for row in self.report.rows]

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the scale of interquartile means: tenths around all intervals."""
        intervals = [row.aggregate for row in self.report.rows]
        low = int(10 * min((interval.low for interval in intervals), default=0.0)) / 10
        high = -int(-10 * max((interval.high for interval in intervals), default=1.0) // 1) / 10
        return low, max(high, low + 0.1)

    @property
    def profiles(self) -> list[Line]:
        """The performance profiles, the best variant drawn last."""
        lines = []
        for ranked in reversed(self.ranked):
            points = [(100 * share, one) for share, one in zip(THRESHOLDS, ranked.row.profile, strict=True)]
            path = _path((x, 100 - 100 * one.mean) for x, one in points)
            band = _band([(x, 100 - 100 * one.high, 100 - 100 * one.low) for x, one in points])
            lines.append(Line(ranked.row.title, ranked.style, path, band if ranked.interval else ""))
        return lines

    @cached_property
    def plots(self) -> list[Plot]:
        """The curves, an entry for each environment."""
        plots = []
        for place, name in enumerate(self.report.environments):
            cells = tuple((row, row.cells[place]) for row in self.report.rows)
            lines = tuple(Line(row.title, self.style(row.name), *_curve(cell)) for row, cell in cells)
            env_id = self.study.spec_of(name, next(iter(self.study.variants)), 0).env_id
            plots.append(Plot(name, env_id, cells, lines))
        return plots

    @property
    def turns(self) -> list[tuple[TurnsUsed, Dots, Dots]]:
        """Turns and shares solved, for each environment whose optimum is known."""
        return [(used, _turns(used), _solved(used)) for used in self.report.turns_used]

    @property
    def matrix(self) -> Matrix | None:
        """What policies solve elsewhere; None if the study measures none."""
        return self.report.matrix

    @property
    def matrix_rows(self) -> list[MatrixRow]:
        """The same, row by row."""
        found = self.report.matrix
        if found is None:
            return []
        return [
            MatrixRow(trained, tuple(None if cell is None else MatrixCell(cell) for cell in found.row(trained)))
            for trained in found.trained_in
        ]

    @property
    def before(self) -> list[str]:
        """What the first policies solve in each column of the matrix, before any training."""
        found = self.report.matrix
        return [found.before(name) for name in found.measured_in] if found else []

    @property
    def averages(self) -> list[str]:
        """What policies that were trained in others solve on average in each column; empty if there are too few."""
        found = self.report.matrix
        return list(map(found.on_average, found.measured_in)) if found and found.averages else []

    @property
    def fewest_seeds(self) -> int:
        """With fewer trainings in an environment, no gain there is shown."""
        return FEWEST_SEEDS

    @property
    def tuned_setting(self) -> str:
        """The name of the setting that each variant was tuned in; empty if none."""
        return next(iter(self.study.tuning), "")


def figures(shown: Shown) -> dict[str, Any]:
    """The context of the figures."""
    return {
        "shown": shown,
        "report": shown.report,
        "profile_columns": PROFILE_COLUMNS,
        "curve_points": CURVE_POINTS,
        "shares": [Tick(100 - share, _percent(share / 100)) for share in (0, 25, 50, 75, 100)],
        "across": [Tick(share, _percent(share / 100)) for share in (0, 20, 40, 60, 80, 100)],
    }


def _turns(used: TurnsUsed) -> Dots:
    values = [point.turns for point in used.points]
    low = min(used.optimum, *(value.low for value in values))
    high = max(value.high for value in values)
    return _dots(used, values, (low, high), "Turns of solved episodes", "{:.2f}", used.optimum)


def _solved(used: TurnsUsed) -> Dots:
    values = [point.solved for point in used.points]
    return _dots(used, values, (min(value.low for value in values), 1.0), "Solved", "{:.0%}", None)


def _dots(
    used: TurnsUsed, values: Sequence[Interval], span: tuple[float, float], title: str, form: str, optimum: float | None
) -> Dots:
    margin = 0.08 * (span[1] - span[0] or 1.0)
    low, high = span[0] - margin, span[1] + margin

    def height(value: float) -> float:
        return round(100 * (high - value) / (high - low), 1)

    def text(value: float) -> str:
        return form.format(value).replace("%", f"{NO_BREAK}%")

    marks = tuple(
        Mark(
            point.title,
            point.title if point.position is None else f"{point.position:g}",
            round(100 * (place + 0.5) / len(values), 1),
            height(value.mean),
            height(value.high),
            height(value.low),
            f"{text(value.mean)}, 95 % interval {text(value.low)} to {text(value.high)}",
        )
        for place, (point, value) in enumerate(zip(used.points, values, strict=True))
    )
    ticks = tuple(Tick(height(value), text(value)) for value in (span[0], (span[0] + span[1]) / 2, span[1]))
    reference = None if optimum is None else Tick(height(optimum), f"best strategy {optimum:g}")
    return Dots(title, used.environment, marks, ticks, reference)


def _curve(cell: Cell) -> tuple[str, str]:
    """The path of the mean, and the outline of the range of the seeds."""
    columns = list(zip(*(run.curve for run in cell.runs), strict=False))
    xs = [100 * place / max(1, len(columns) - 1) for place in range(len(columns))]
    means = ((x, 100 - 100 * sum(column) / len(column)) for x, column in zip(xs, columns, strict=True))
    ranges = [(x, 100 - 100 * max(column), 100 - 100 * min(column)) for x, column in zip(xs, columns, strict=True)]
    return _path(means), _band(ranges)


def _path(points: Iterable[tuple[float, float]]) -> str:
    text = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M{text}" if text else ""


def _band(points: Sequence[tuple[float, float, float]]) -> str:
    """The outline between an upper and a lower curve; the points are x, the upper and the lower height."""
    outline = [*((x, top) for x, top, _ in points), *((x, bottom) for x, _, bottom in reversed(points))]
    return f"{_path(outline)} Z" if points else ""


def _at(curve: Sequence[float], part: float) -> float:
    return curve[round(part * (len(curve) - 1))] if curve else 0.0


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f}{NO_BREAK}%"
