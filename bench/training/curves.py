"""Draw the curves of some runs into a small SVG file, the mean over seeds with the range between them.

    python -m bench.training.curves --out runs/solved.svg --entry success --title "Solved" \\
        "ReBN=runs/algorithms/fifteen-easy/rebn-1-*" "REINFORCE=runs/algorithms/fifteen-easy/reinforce-1-*"
"""

from __future__ import annotations

import argparse
import glob
from pathlib import Path

from gem.training.run_folder import RunFolder
from gem.training.study.curves import Curve, draw


def read(argument: str, entry: str) -> Curve:
    """A curve from `name=pattern of run folders`."""
    name, _, pattern = argument.partition("=")
    folders = sorted(Path(path) for path in glob.glob(pattern))
    runs = [[float(row[entry]) for row in RunFolder(folder).metrics()] for folder in folders]
    if not runs or not all(runs):
        raise SystemExit(f"{pattern} names no run with points.")
    return Curve(name, runs)


def main() -> None:
    """Read the runs and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.curves", description="Draw the curves of runs.")
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
