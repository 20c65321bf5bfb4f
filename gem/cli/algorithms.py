"""`gemweb bench algorithms`: compare REINFORCE, ReBN, GRPO and PPO with equal budgets, over seeds and discounts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.output.tables import table
from gem.credit import ALGORITHMS
from gem.errors import InvalidArgument
from gem.validation.dependencies import FIGURE_PACKAGES, TRAINING_PACKAGES, require_installed

if TYPE_CHECKING:
    from gem.training.spec import TrainingSpec
    from gem.training.study.compare import ComparedRun, TunedSetting

KEYWORD = "algorithms"
DEFAULT_FOLDER = Path("runs/algorithms")
FIXED_SETTINGS = ("algorithm", "discount", "seed", "updates", "episodes")
"""Settings that cannot be tuned: those that distinguish the runs, and those that have to be equal for all."""


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the arguments of the command."""
    group.add_argument("--recipe", default="fifteen-easy", help="the recipe with all other settings (fifteen-easy)")
    group.add_argument(
        "--algorithm",
        action="append",
        metavar="NAME",
        help="reinforce, rebn, grpo or ppo; may be given several times (all)",
    )
    group.add_argument("--discount", type=float, action="append", help="may be given several times (1 and 0.9)")
    group.add_argument("--seeds", type=int, default=3, help="runs of each setting (3)")
    group.add_argument("--updates", type=int, help="updates of each run (those of the recipe)")
    group.add_argument(
        "--tune",
        action="append",
        metavar="KEY=A,B,C",
        help="a setting that each algorithm first tunes, with the values to try, such as learning_rate=5e-4,2e-3; may "
        "be given several times",
    )
    group.add_argument("--out", type=Path, help=f"the folder of the runs; runs in it are continued ({DEFAULT_FOLDER})")


def run(
    recipe: str,
    algorithm: list[str] | None,
    discount: list[float] | None,
    seeds: int,
    updates: int | None,
    tune: list[str] | None,
    out: Path | None,
) -> int:
    """Train the runs that are missing, and print the table and the verdict."""
    from gem.training.study import compare  # noqa: PLC0415 (a quick start)

    tunings = [_parse_tuning(argument) for argument in tune or ()]
    specs = compare.plan(recipe, algorithm or list(ALGORITHMS), discount or [1.0, 0.9], seeds, updates)
    folder = (out or DEFAULT_FOLDER) / recipe
    require_installed("The comparison of algorithms", {**TRAINING_PACKAGES, **FIGURE_PACKAGES})
    _print_progress(f"{len(specs)} trainings in {folder}; if they are stopped, the same command continues them.")
    choices: list[TunedSetting] = []
    for entry, values in tunings:
        specs, new_choices = compare.tune(specs, entry, values, folder, _print_progress)
        choices += new_choices
    runs = compare.compare(specs, folder, _print_run)
    _report(recipe, specs[0], choices, runs)
    figure_path = folder / compare.FIGURE
    figure_path.write_text(compare.figure(runs, f"{recipe}: share solved, by update; {seeds} seeds"), encoding="utf-8")
    print(f"The curves: {figure_path}")
    return 0


def _report(recipe: str, spec: TrainingSpec, choices: list[TunedSetting], runs: list[ComparedRun]) -> None:
    from gem.training.study import compare  # noqa: PLC0415 (as above)

    budget = f"{spec.updates} updates of {spec.episodes} episodes"
    print(f"{recipe}, {spec.env_id}: {budget} each; then {compare.EVALUATION_EPISODES} episodes on other seeds.")
    for choice in choices:
        results = ", ".join(f"{value} {success_rate:.0%}" for value, success_rate in choice.solved_by_value.items())
        print(f"{choice.variant}: {choice.name} is {choice.value} (tried: {results})")
    table(compare.HEADINGS, compare.table(runs))
    print(compare.verdict(runs))


def _parse_tuning(argument: str) -> tuple[str, list[Any]]:
    """Return the setting to tune and its values.

    Raises:
        InvalidArgument: if there are fewer than two values, or the setting cannot be tuned.
    """
    from gem.training.spec import with_settings  # noqa: PLC0415 (a quick start)

    entry, _, value_list = argument.partition("=")
    values = [with_settings({}, [f"{entry}={value}"])[entry] for value in dict.fromkeys(value_list.split(",")) if value]
    if not entry or len(values) < 2 or entry in FIXED_SETTINGS:
        raise InvalidArgument(
            f"--tune takes a setting with two values or more, such as learning_rate=5e-4,2e-3, and none of "
            f"{', '.join(FIXED_SETTINGS)}; not {argument!r}."
        )
    return entry, values


def _print_progress(line: str) -> None:
    print(line, file=sys.stderr)


def _print_run(run: ComparedRun) -> None:
    _print_progress(f"{run.variant}, seed {run.seed}: solves {run.success:.0%} after {run.cpu_seconds:.0f} CPU s")
