"""Curves of several runs as one small SVG picture: the mean over the seeds with the range between them."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 240, 44, 130, 28, 34
COLOURS = ("#2f6fde", "#d9730d", "#1f9254", "#a04bbf", "#7a7f87", "#b8336a", "#0f8b8d", "#a67c00")
STYLE = (
    "text{font:12px sans-serif;fill:#444}.axis{stroke:#999}"
    "@media(prefers-color-scheme:dark){text{fill:#ccc}.axis{stroke:#777}}"
)


class Curve(NamedTuple):
    """A name and the values of each of its runs, by update."""

    name: str
    runs: list[list[float]]

    @property
    def length(self) -> int:
        """Updates that all its runs have."""
        return min(map(len, self.runs))


def draw(curves: Sequence[Curve], title: str, top: float) -> str:
    """The picture: a band from the lowest to the highest run, and a line for the mean."""
    longest = max(curve.length for curve in curves)

    def x(update: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * update / max(longest - 1, 1)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(max(value / top, 0.0), 1.0)

    parts = [f'<text x="{LEFT}" y="16">{escape(title)}</text>']
    for share in (0.0, 0.5, 1.0):
        parts.append(
            f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(share * top)}" y2="{y(share * top)}"/>'
        )
        parts.append(f'<text x="{LEFT - 6}" y="{y(share * top) + 4}" text-anchor="end">{share * top:.3g}</text>')
    ends = ((x(update), update + 1) for update in (0, longest - 1))
    parts += [f'<text x="{at}" y="{HEIGHT - 14}" text-anchor="middle">{number}</text>' for at, number in ends]
    parts.append(f'<text x="{x((longest - 1) // 2)}" y="{HEIGHT - 14}" text-anchor="middle">update</text>')
    for place, (curve, colour) in enumerate(zip(curves, itertools.cycle(COLOURS), strict=False)):
        columns = [[run[i] for run in curve.runs] for i in range(curve.length)]
        above = [f"{x(i):.1f},{y(max(column)):.1f}" for i, column in enumerate(columns)]
        below = [f"{x(i):.1f},{y(min(column)):.1f}" for i, column in enumerate(columns)]
        mean = [f"{x(i):.1f},{y(statistics.fmean(column)):.1f}" for i, column in enumerate(columns)]
        parts.append(f'<polygon fill="{colour}" opacity="0.18" points="{" ".join(above + below[::-1])}"/>')
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(mean)}"/>')
        parts.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{TOP + 20 * place}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - RIGHT + 30}" y="{TOP + 10 + 20 * place}">{escape(curve.name)}</text>')
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"
