"""Draw the curves of some runs into a small SVG file, the mean over seeds with the range between them.

    python -m bench.training_curves --out runs/solved.svg --entry success --title "Solved" \\
        "ReBN=runs/algorithms/fifteen-easy/rebn-1-*" "REINFORCE=runs/algorithms/fifteen-easy/reinforce-1-*"
"""

from __future__ import annotations

import argparse
import glob
import statistics
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from gem.training.run_folder import RunFolder

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 240, 44, 110, 28, 34
COLOURS = ("#2f6fde", "#d9730d", "#1f9254", "#a04bbf")
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


def read(argument: str, entry: str) -> Curve:
    """A curve from `name=pattern of run folders`."""
    name, _, pattern = argument.partition("=")
    folders = sorted(Path(path) for path in glob.glob(pattern))
    runs = [[float(row[entry]) for row in RunFolder(folder).metrics()] for folder in folders]
    if not runs or not all(runs):
        raise SystemExit(f"{pattern} names no run with points.")
    return Curve(name, runs)


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
    for place, (curve, colour) in enumerate(zip(curves, COLOURS, strict=False)):
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


def main() -> None:
    """Read the runs and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.training_curves", description="Draw the curves of runs.")
    parser.add_argument("curves", nargs="+", metavar="NAME=FOLDERS")
    parser.add_argument("--entry", default="success", help="of the points (success)")
    parser.add_argument("--title", default="")
    parser.add_argument("--top", type=float, default=1.0, help="of the scale (1)")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    curves = [read(argument, arguments.entry) for argument in arguments.curves]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(draw(curves, arguments.title or arguments.entry, arguments.top), encoding="utf-8")


if __name__ == "__main__":
    main()
