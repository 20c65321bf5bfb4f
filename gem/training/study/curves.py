"""Learning curves of several runs as one small SVG picture: the mean over the seeds, and a band for their range."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import StringIO
from typing import Any, NamedTuple

SIZE_INCHES = (5.6, 2.4)
"""Width and height of a picture."""
COLOURS = ("#2f6fde", "#d9730d", "#1f9254", "#a04bbf", "#7a7f87", "#b8336a", "#0f8b8d", "#a67c00")
INK = "#808080"
"""Colour of text and axes, readable on a light page and on a dark one."""
STYLE: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "font.size": 8,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "gemweb",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


class Curve(NamedTuple):
    """The values of several runs by update, under one name."""

    name: str
    runs: list[list[float]]

    @property
    def length(self) -> int:
        """Number of updates that all runs have."""
        return min(map(len, self.runs))


class Drawing:
    """A matplotlib figure that is written as SVG."""

    def __init__(self, figure: Any) -> None:
        self._figure = figure
        self.axes = figure.add_subplot()

    def svg(self) -> str:
        """The figure as an SVG element for a page; the same figure always gives the same text."""
        return svg_of(self._figure, self.axes.get_title(loc="left"))


def svg_of(figure: Any, title: str) -> str:
    """A matplotlib figure as an SVG element for a page; the same figure always gives the same text.

    Args:
        title: what screen readers say in its place.
    """
    output = StringIO()
    figure.savefig(output, format="svg", transparent=True, metadata={"Title": title, "Date": None, "Creator": None})
    _, tag, rest = output.getvalue().partition("<svg")
    return f'{tag} role="img" aria-label="{escape(title)}"{rest}'


@contextmanager
def drawing(title: str) -> Iterator[Drawing]:
    """An empty figure in the style of our documents, to draw on within the context.

    Raises:
        ModuleNotFoundError: without matplotlib.
    """
    from matplotlib import rc_context  # noqa: PLC0415 (takes half a second, and only pictures need it)
    from matplotlib.figure import Figure  # noqa: PLC0415

    with rc_context(STYLE):
        figure = Drawing(Figure(figsize=SIZE_INCHES, layout="constrained"))
        figure.axes.set_title(title)
        yield figure


def draw(curves: Sequence[Curve], title: str, top: float) -> str:
    """Draw curves as SVG: a band from the lowest to the highest run, and a line for the mean.

    Args:
        top: the upper end of the scale, which begins at 0.
    """
    with drawing(title) as picture:
        axes = picture.axes
        for curve, colour in zip(curves, itertools.cycle(COLOURS), strict=False):
            columns = [[run[i] for run in curve.runs] for i in range(curve.length)]
            updates = range(1, curve.length + 1)
            axes.fill_between(updates, list(map(min, columns)), list(map(max, columns)), color=colour, alpha=0.18, lw=0)
            axes.plot(updates, list(map(statistics.fmean, columns)), color=colour, label=curve.name)
        axes.set(xlabel="update", ylim=(0.0, top))
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return picture.svg()
