"""What the studies of training show: the plans and results of `gem.studies`, which every installation has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gem.errors import InvalidArgument
from gem.evaluation.intervals import Interval
from gem.studies.report import Cell, Report, Row, report
from gem.studies.results import FolderResults
from gem.studies.study import Study, all_studies, find

WIDTH, HEIGHT = 120, 60
"""Of the box that a curve is drawn in; its height is a share from 0 to 1."""


@dataclass(frozen=True)
class Listed:
    """A study in the list, with how much of it is done."""

    study: Study
    done: int
    total: int
    cpu_hours: float

    @property
    def is_complete(self) -> bool:
        """Whether every training was made."""
        return self.done == self.total


@dataclass(frozen=True)
class Line:
    """The mean curve of a variant in an environment, as a path, and the number of its colour."""

    title: str
    colour: int
    path: str
    mean: float


@dataclass(frozen=True)
class Plot:
    """The curves of all variants in one environment."""

    environment: str
    env_id: str
    seeds: int
    lines: tuple[Line, ...]

    @property
    def in_words(self) -> str:
        """What each variant solves at the end, for those who do not see the curves."""
        return ", ".join(f"{line.title} solves {line.mean:.0%}".replace("%", " %") for line in self.lines)


@dataclass(frozen=True)
class Ranked:
    """A variant in the table, and the number of its colour."""

    row: Row
    colour: int

    @property
    def in_words(self) -> str:
        """The share solved, with its interval if there is one, for those who do not see the picture."""
        mean, low, high = (f"{share:.1%}".replace("%", " %") for share in self.row.aggregate)
        return f"{mean}, 95 % interval {low} to {high}" if self.row.interval else mean

    @property
    def aggregate(self) -> Interval:
        """The share solved, over all environments."""
        return self.row.aggregate


@dataclass(frozen=True)
class MatrixRow:
    """What policies that were trained in one environment solve in each of the others."""

    trained_in: str
    shares: tuple[Interval | None, ...]


def studies() -> list[Listed]:
    """Every study that comes with the engine."""
    listed = []
    for study in all_studies():
        found = _report(study.name, _state(study))
        listed.append(Listed(study, found.done, found.total, found.cpu_seconds / 3600))
    return listed


@dataclass(frozen=True)
class Shown:
    """The page of a study."""

    report: Report

    @property
    def study(self) -> Study:
        """The plan."""
        return self.report.study

    @property
    def cpu_hours(self) -> float:
        """CPU hours of all trainings that were made."""
        return self.report.cpu_seconds / 3600

    @property
    def ranked(self) -> list[Ranked]:
        """The variants, the one that solves most first."""
        return [Ranked(row, self._colour(row.name)) for row in self.report.rows]

    @property
    def plots(self) -> list[Plot]:
        """The curves, an entry for each environment."""
        plots = []
        for place, name in enumerate(self.report.environments):
            cells = [(row, row.cells[place]) for row in self.report.rows]
            lines = tuple(Line(row.title, self._colour(row.name), _path(cell), cell.success) for row, cell in cells)
            seeds = len(cells[0][1].runs)
            env_id = self.study.spec_of(name, next(iter(self.study.variants)), 0).env_id
            plots.append(Plot(name, env_id, seeds, lines))
        return plots

    @property
    def matrix(self) -> list[MatrixRow]:
        """Results in environments that a policy was not trained in; empty if the study measures none."""
        found = self.report.matrix
        if found is None:
            return []
        return [
            MatrixRow(trained, tuple(None if cell is None else cell.share for cell in found.row(trained)))
            for trained in found.trained_in
        ]

    @property
    def tuned_setting(self) -> str:
        """The name of the setting that each variant was tuned in; empty if none."""
        return next(iter(self.study.tuning), "")

    def _colour(self, variant: str) -> int:
        return 1 + list(self.study.variants).index(variant) % 8


def study(name: str) -> Shown | None:
    """The page of a study; None if there is none of this name."""
    try:
        found = find(name) if not name.endswith(".json") else None
    except InvalidArgument:
        return None
    return None if found is None else Shown(_report(found.name, _state(found)))


def _state(study: Study) -> tuple[int, float]:
    """Changes whenever a result is added or replaced, as in a checkout where a study is running."""
    times = [path.stat().st_mtime for path in FolderResults(study).folder.rglob("*.json")]
    return len(times), max(times, default=0.0)


@lru_cache(maxsize=32)
def _report(name: str, _state: tuple[int, float]) -> Report:
    """The report of a study, with its intervals computed once for each state of its results."""
    found = report(FolderResults(find(name)))
    _ = found.differences
    return found


def _path(cell: Cell) -> str:
    curve = cell.curve
    points = (
        f"{WIDTH * place / max(1, len(curve) - 1):.1f} {HEIGHT * (1 - share):.1f}" for place, share in enumerate(curve)
    )
    return "M" + " L".join(points)
