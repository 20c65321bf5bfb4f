"""The figure of a study: learning curves of the variants, a small plot for each environment."""

from __future__ import annotations

import math

from gem.studies.report import Report
from gem.training.study.curves import COLOURS, STYLE, svg_of

COLUMNS = 3
PLOT_INCHES = (2.4, 1.7)
"""Width and height of one plot."""


def curves(report: Report) -> str:
    """Draw the mean curve of each variant in each environment, and the range of its seeds, as one SVG picture.

    Raises:
        ModuleNotFoundError: without matplotlib.
    """
    from matplotlib import rc_context  # noqa: PLC0415 (takes half a second, and only pictures need it)
    from matplotlib.figure import Figure  # noqa: PLC0415

    names = report.environments
    columns = min(COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    ordered = sorted(report.rows, key=lambda row: list(report.study.variants).index(row.name))
    with rc_context(STYLE):
        figure = Figure(figsize=(PLOT_INCHES[0] * columns, PLOT_INCHES[1] * rows + 0.4), layout="constrained")
        plots = [plot for line in figure.subplots(rows, columns, squeeze=False) for plot in line]
        for place, plot in enumerate(plots):
            if place >= len(names):
                plot.set_axis_off()
                continue
            for row, colour in zip(ordered, COLOURS, strict=False):
                cell = row.cells[place]
                points = list(zip(*(run.curve for run in cell.runs), strict=False))
                done = [(number + 1) / len(points) for number in range(len(points))]
                plot.fill_between(done, list(map(min, points)), list(map(max, points)), color=colour, alpha=0.12, lw=0)
                plot.plot(done, cell.curve, color=colour, label=row.title, lw=1.2)
            plot.set_title(names[place])
            plot.set(ylim=(0, 1), xlim=(0, 1), xticks=[0, 1], xticklabels=["start", "end"], yticks=[0, 0.5, 1])
        handles, labels = plots[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        return svg_of(figure, report.study.title)
