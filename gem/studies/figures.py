"""The figures of a study, as SVG: learning curves, performance profiles, turns by a setting, and the matrix."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import fill
from typing import Any, NamedTuple

from gem.studies.matrix import Matrix
from gem.studies.report import Report, Row
from gem.studies.statistics import FEWEST_SEEDS, THRESHOLDS
from gem.studies.turns import TurnsUsed
from gem.training.study.curves import COLOURS, INK, STYLE, svg_of

COLUMNS = 3
PLOT_INCHES = (2.4, 1.7)
"""Width and height of one plot."""
CELL_INCHES = 0.3
"""Width and height of a cell of the matrix."""
UNKNOWN = "#b3b6b8"
"""The outline of a cell of the matrix whose gain is not known."""
OUTLINES = (
    f"Outlines: not every training there solves clearly more than before, or there are fewer than {FEWEST_SEEDS}."
)
LETTERS_AN_INCH = 14
DASHES = ("-", "--", ":", "-.")
"""So that variants can be told apart without their colours."""


class FigureKind(NamedTuple):
    """A figure that some studies have."""

    suffix: str
    """At the end of the name of its file."""
    alt: str
    """For those who do not see it."""
    legend: str
    """The sentence below it."""
    has: Callable[[Report], bool]
    """Whether the results allow it."""
    draw: Callable[[Report], str]

    def file(self, study: str) -> str:
        """The name of its file."""
        return f"{study}{self.suffix}.svg"


def figures_of(report: Report) -> list[FigureKind]:
    """The figures that the results of a study allow."""
    return [kind for kind in KINDS if kind.has(report)]


def curves(report: Report) -> str:
    """Draw the mean curve of each variant in each environment, and the range of its seeds.

    Raises:
        ModuleNotFoundError: without matplotlib.
    """
    names = report.environments
    ordered = _in_order(report)
    with _plots(len(names), report.study.title) as (figure, plots):
        for place, (name, plot) in enumerate(zip(names, plots, strict=True)):
            for row, colour, dash in _styled(ordered):
                cell = row.cells[place]
                points = list(zip(*(run.curve for run in cell.runs), strict=False))
                done = [(number + 1) / len(points) for number in range(len(points))]
                plot.fill_between(done, list(map(min, points)), list(map(max, points)), color=colour, alpha=0.12, lw=0)
                plot.plot(done, cell.curve, color=colour, label=row.title, lw=1.2, ls=dash)
            plot.set_title(name)
            plot.set(ylim=(0, 1), xlim=(0, 1), xticks=[0, 1], xticklabels=["start", "end"], yticks=[0, 0.5, 1])
        _add_legend(figure, plots[0])
    return figure.svg()


def profiles(report: Report) -> str:
    """Draw the interquartile mean of each variant and its performance profile, with their intervals."""
    ordered = _in_order(report)
    with _plots(2, f"{report.study.title}: performance profiles", size=(3.4, 2.4)) as (figure, plots):
        means, profile = plots
        for place, (row, colour, dash) in enumerate(_styled(ordered)):
            if row.interval is not None:
                means.plot([row.interval.low, row.interval.high], [place, place], color=colour, lw=5, alpha=0.3)
            means.plot(row.aggregate.mean, place, "o", color=colour, ms=4)
            shares = [one.mean for one in row.profile]
            if row.interval is not None:
                low, high = [one.low for one in row.profile], [one.high for one in row.profile]
                profile.fill_between(THRESHOLDS, low, high, color=colour, alpha=0.15, lw=0)
            profile.plot(THRESHOLDS, shares, color=colour, label=row.title, lw=1.2, ls=dash)
        means.set_title("solved, interquartile mean")
        means.set(yticks=range(len(ordered)), yticklabels=[row.title for row in ordered])
        means.invert_yaxis()
        means.margins(x=0.1, y=0.2)
        profile.set_title("share of trainings that solve more than")
        profile.set(xlim=(0, 1), ylim=(0, 1.02), yticks=[0, 0.5, 1])
        _add_legend(figure, profile)
    return figure.svg()


def turns(report: Report) -> str:
    """Draw the turns of solved episodes and the share solved over the axis of the study, for each environment."""
    found = report.turns_used
    with _plots(2 * len(found), f"{report.study.title}: turns", columns=2, size=(3.2, 2.0)) as (figure, plots):
        for used, (left, right) in zip(found, zip(plots[::2], plots[1::2], strict=True), strict=True):
            _draw_turns(left, used)
            _draw_solved(right, used)
            for plot in (left, right):
                titles = [f"{point.position:g}" if point.position is not None else point.title for point in used.points]
                plot.set(xticks=range(len(titles)), xticklabels=titles, xlabel=report.study.axis)
                plot.margins(x=0.06, y=0.15)
    return figure.svg()


def _draw_turns(plot: Any, used: TurnsUsed) -> None:
    places, means = range(len(used.points)), [point.turns.mean for point in used.points]
    for place, point in enumerate(used.points):
        plot.plot([place, place], [point.turns.low, point.turns.high], color=COLOURS[0], lw=1.2)
    plot.plot(places, means, "o-", color=COLOURS[0], ms=4, lw=0.6)
    plot.axhline(used.optimum, color=INK, ls=":", lw=1)
    plot.set_title(f"{used.environment}: turns of solved episodes")


def _draw_solved(plot: Any, used: TurnsUsed) -> None:
    places, means = range(len(used.points)), [point.solved.mean for point in used.points]
    for place, point in enumerate(used.points):
        plot.plot([place, place], [point.solved.low, point.solved.high], color=COLOURS[0], lw=1.2)
    plot.plot(places, means, "o-", color=COLOURS[0], ms=4, lw=0.6)
    plot.set_title(f"{used.environment}: solved")


def transfers(report: Report) -> str:
    """Draw the matrix: how much of the gain of training there each policy has, as lightness, and a frame where it was
    trained. A cell is an outline where training there has shown no gain to compare with."""
    found = report.matrix
    assert found is not None
    rows, columns = len(found.trained_in), len(found.measured_in)
    size = (CELL_INCHES * columns + 1.8, CELL_INCHES * rows + 1.4)
    with _plots(1, f"{report.study.title}: matrix", columns=1, size=size) as (figure, plots):
        _draw_matrix(plots[0], found)
        if any(cell.gain is None for cell in found.cells.values()):
            figure.figure.supxlabel(fill(OUTLINES, width=int(LETTERS_AN_INCH * size[0])), fontsize="medium")
    return figure.svg()


def _draw_matrix(plot: Any, found: Matrix) -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 (as below)

    for line, trained in enumerate(found.trained_in):
        for column, cell in enumerate(found.row(trained)):
            if cell is None:
                continue
            corner = (column + 0.05, line + 0.05)
            if cell.gain is None:
                plot.add_patch(Rectangle(corner, 0.9, 0.9, fill=False, edgecolor=UNKNOWN, lw=0.6))
            else:
                alpha = 0.06 + 0.94 * min(1.0, max(0.0, cell.gain))
                plot.add_patch(Rectangle(corner, 0.9, 0.9, facecolor=COLOURS[0], alpha=alpha, edgecolor="none"))
            if cell.is_own:
                plot.add_patch(Rectangle(corner, 0.9, 0.9, fill=False, edgecolor=INK, lw=1.2))
            elif cell.carries_over:
                plot.plot(column + 0.5, line + 0.5, "o", color=INK, ms=2)
    plot.set(xlim=(0, len(found.measured_in)), ylim=(len(found.trained_in), 0), aspect="equal")
    plot.set_xticks([place + 0.5 for place in range(len(found.measured_in))], found.measured_in, rotation=60, ha="left")
    plot.set_yticks([place + 0.5 for place in range(len(found.trained_in))], found.trained_in)
    plot.xaxis.tick_top()
    plot.tick_params(length=0)
    for spine in plot.spines.values():
        spine.set_visible(False)


KINDS = (
    FigureKind(
        "",
        "Learning curves of each variant in each environment",
        "Share solved during the training: mean and range of the seeds.",
        lambda report: bool(report.rows),
        curves,
    ),
    FigureKind(
        "-profiles",
        "Interquartile means and performance profiles of the variants",
        "Left: the interquartile mean of each variant with its 95 % interval. Right: the share of a variant's "
        "trainings, over all environments and seeds, that solve more than a share of the held-out episodes, with "
        "pointwise 95 % intervals.",
        lambda report: len(report.rows) > 1,
        profiles,
    ),
    FigureKind(
        "-turns",
        "Turns of solved episodes and share solved of each variant",
        "Bars: 95 % intervals over the seeds (Student's t). Dots: the best strategy.",
        lambda report: bool(report.turns_used),
        turns,
    ),
    FigureKind(
        "-matrix",
        "What policies that were trained in one environment solve in each of the others",
        "Rows: trained in; columns: measured in. Dark: as much gained as by training there; a frame: trained there; a "
        "dot: clearly more than before any training; an outline: not every training there solves clearly more than "
        f"before, or there are fewer than {FEWEST_SEEDS}.",
        lambda report: report.matrix is not None,
        transfers,
    ),
)


def _in_order(report: Report) -> list[Row]:
    """The variants in the order of the plan, so that each has the same colour in every figure."""
    return sorted(report.rows, key=lambda row: list(report.study.variants).index(row.name))


def _styled(rows: list[Row]) -> Iterator[tuple[Row, str, str]]:
    """Each variant with its colour and its dashes."""
    for place, row in enumerate(rows):
        yield row, COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]


class _Figure:
    """A figure that is written when its context ends."""

    def __init__(self, figure: Any, title: str) -> None:
        self.figure, self._title = figure, title
        self._svg = ""

    def finish(self) -> None:
        self._svg = svg_of(self.figure, self._title)

    def svg(self) -> str:
        return self._svg


@contextmanager
def _plots(
    count: int, title: str, columns: int = COLUMNS, size: tuple[float, float] = PLOT_INCHES
) -> Iterator[tuple[_Figure, list[Any]]]:
    """So many small plots in our style, to draw on within the context.

    Args:
        size: of one plot, in inches.
    """
    from matplotlib import rc_context  # noqa: PLC0415 (takes half a second, and only pictures need it)
    from matplotlib.figure import Figure  # noqa: PLC0415

    columns = min(columns, count)
    rows = math.ceil(count / columns)
    with rc_context(STYLE):
        figure = _Figure(Figure(figsize=(size[0] * columns, size[1] * rows + 0.4), layout="constrained"), title)
        plots = [plot for line in figure.figure.subplots(rows, columns, squeeze=False) for plot in line]
        for plot in plots[count:]:
            plot.set_axis_off()
        yield figure, plots[:count]
        figure.finish()


def _add_legend(figure: _Figure, plot: Any) -> None:
    handles, labels = plot.get_legend_handles_labels()
    figure.figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)))
