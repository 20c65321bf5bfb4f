"""`gemweb bench algorithms`: REINFORCE, ReBN, GRPO and PPO with equal budgets, over seeds and discounts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.output.tables import table
from gem.credit import ALGORITHMS
from gem.errors import InvalidArgument
from gem.validation.dependencies import PICTURES, TRAINING, require_installed

if TYPE_CHECKING:
    from gem.training.spec import TrainingSpec
    from gem.training.study.compare import ComparedRun, TunedSetting

WORD = "algorithms"
RUNS = Path("runs/algorithms")
FIXED = ("algorithm", "discount", "seed", "updates", "episodes")
"""What tells the runs apart, and what has to be equal for all."""


def arguments(group: argparse._ArgumentGroup) -> None:
    """What it takes."""
    group.add_argument("--recipe", default="fifteen-easy", help="where all other settings come from (fifteen-easy)")
    group.add_argument(
        "--algorithm", action="append", metavar="NAME", help="reinforce, rebn, grpo or ppo; several times; else all"
    )
    group.add_argument("--discount", type=float, action="append", help="several times; else 1 and 0.9")
    group.add_argument("--seeds", type=int, default=3, help="runs of each (3)")
    group.add_argument("--updates", type=int, help="of each run; else the recipe's")
    group.add_argument(
        "--tune",
        action="append",
        metavar="KEY=A,B,C",
        help="what each algorithm first chooses among the same values, such as learning_rate=5e-4,2e-3; several times",
    )
    group.add_argument("--out", type=Path, help=f"the folder of the runs, gone on from ({RUNS})")


def run(
    recipe: str,
    algorithm: list[str] | None,
    discount: list[float] | None,
    seeds: int,
    updates: int | None,
    tune: list[str] | None,
    out: Path | None,
) -> int:
    """Train what is not there yet, and print the table and what it allows to say."""
    from gem.training.study import compare  # noqa: PLC0415 (a quick start)

    tuned = [_tuning(asked) for asked in tune or ()]
    specs = compare.plan(recipe, algorithm or list(ALGORITHMS), discount or [1.0, 0.9], seeds, updates)
    folder = (out or RUNS) / recipe
    require_installed("The comparison of algorithms", {**TRAINING, **PICTURES})
    _say(f"{len(specs)} trainings in {folder}; once stopped, the same command goes on with them.")
    settings: list[TunedSetting] = []
    for name, values in tuned:
        specs, tuned_settings = compare.tune(specs, name, values, folder, _say)
        settings += tuned_settings
    runs = compare.compare(specs, folder, _show)
    _report(recipe, specs[0], settings, runs)
    picture = folder / compare.FIGURE
    picture.write_text(compare.figure(runs, f"{recipe}: share solved, by update; {seeds} seeds"), encoding="utf-8")
    print(f"The curves: {picture}")
    return 0


def _report(recipe: str, spec: TrainingSpec, settings: list[TunedSetting], runs: list[ComparedRun]) -> None:
    from gem.training.study import compare  # noqa: PLC0415 (as above)

    budget = f"{spec.updates} updates of {spec.episodes} episodes"
    print(f"{recipe}, {spec.env_id}: {budget} each; then {compare.EVALUATION_EPISODES} episodes on other seeds.")
    for setting in settings:
        results = ", ".join(f"{value} {solved:.0%}" for value, solved in setting.solved_by_value.items())
        print(f"{setting.variant}: {setting.name} is {setting.value} (tried: {results})")
    table(compare.HEADINGS, compare.table(runs))
    print(compare.verdict(runs))


def _tuning(asked: str) -> tuple[str, list[Any]]:
    """The setting that is to be tuned, and its values.

    Raises:
        InvalidArgument: if it does not name at least two values of a setting, or one that tells the runs apart.
    """
    from gem.training.spec import with_settings  # noqa: PLC0415 (a quick start)

    entry, _, listed = asked.partition("=")
    values = [with_settings({}, [f"{entry}={value}"])[entry] for value in dict.fromkeys(listed.split(",")) if value]
    if not entry or len(values) < 2 or entry in FIXED:
        raise InvalidArgument(
            f"--tune takes a setting with two values or more, such as learning_rate=5e-4,2e-3, and none of "
            f"{', '.join(FIXED)}; not {asked!r}."
        )
    return entry, values


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _show(run: ComparedRun) -> None:
    _say(f"{run.variant}, seed {run.seed}: solves {run.success:.0%} after {run.cpu_seconds:.0f} CPU s")
