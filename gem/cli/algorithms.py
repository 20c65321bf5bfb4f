"""`gemweb bench algorithms`: REINFORCE, ReBN, GRPO and PPO with equal budgets, over seeds and discounts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gem.cli.words import table
from gem.credit import ALGORITHMS
from gem.errors import MissingDependency

if TYPE_CHECKING:
    from gem.training.compare import Run

WORD = "algorithms"


def arguments(group: argparse._ArgumentGroup) -> None:
    """What it takes."""
    group.add_argument("--recipe", default="fifteen-easy", help="where all other settings come from (fifteen-easy)")
    group.add_argument(
        "--algorithm", action="append", metavar="NAME", help="reinforce, rebn, grpo or ppo; several times; else all"
    )
    group.add_argument("--discount", type=float, action="append", help="several times; else 1 and 0.9")
    group.add_argument("--seeds", type=int, default=3, help="runs of each (3)")
    group.add_argument("--updates", type=int, help="of each run; else the recipe's")
    group.add_argument("--out", type=Path, default=Path("runs/algorithms"), help="the folder of the runs, gone on from")


def run(
    recipe: str, algorithm: list[str] | None, discount: list[float] | None, seeds: int, updates: int | None, out: Path
) -> int:
    """Train what is not there yet, and print the table and what it allows to say."""
    from gem.training import compare  # noqa: PLC0415 (a quick start)

    specs = compare.plan(recipe, algorithm or ALGORITHMS, discount or [1.0, 0.9], seeds, updates)
    try:
        runs = compare.compare(specs, out / recipe, _show)
    except ModuleNotFoundError as error:
        raise MissingDependency("The comparison of algorithms", [str(error.name)]) from error
    budget = f"{specs[0].updates} updates of {specs[0].episodes} episodes"
    print(f"{recipe}, {specs[0].env_id}: {budget} each; then {compare.EPISODES} episodes on other seeds.")
    table(compare.HEADINGS, compare.table(runs))
    print(compare.verdict(runs))
    return 0


def _show(one: Run) -> None:
    print(
        f"{one.setting}, seed {one.seed}: solves {one.success:.0%} after {one.cpu_seconds:.0f} CPU s", file=sys.stderr
    )
