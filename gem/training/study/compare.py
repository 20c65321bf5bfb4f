"""Compares algorithms with equal budgets, over several seeds: `gemweb bench algorithms`.

All runs have the same first policy, number of episodes and updates, learning rate and entropy bonus; only the algorithm
and the discount differ. Settings that were found with one algorithm favour it, so each algorithm may be tuned as much
as every other: it is trained once with each of the same values of a setting, and then keeps its best value. The
comparison is of the share of episodes that the last policy solves, on seeds that no training meets. Intervals are
Student's over the seeds' means, so that few seeds give wide ones, and an order is stated only between intervals that
do not overlap.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gem
from gem.credit import ALGORITHMS, Algorithm
from gem.errors import InvalidArgument, UsageError
from gem.evaluation.scores import Interval, student_t_interval
from gem.training import recipes
from gem.training.run_folder import RunFolder, write_atomically
from gem.training.spec import TrainingSpec, read_spec
from gem.training.study.curves import Curve, draw

EVALUATION_EPISODES = 256
"""Episodes on which each last policy is evaluated."""
TUNING_SEED = 1_000_003
"""Seed of the trainings that only choose a value; none of the compared trainings has it."""
HEADINGS = ["", "seeds", "solved", "95 % interval", "each seed", "area", "return", "turns", "CPU s"]
"""Headings of the table. `area` is the mean share solved over all updates: the area under the learning curve."""
FIGURE = "solved.svg"
SCALE_ENDS = (0.1, 0.25, 0.5, 1.0)
"""Where the scale of the figure may end."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One training of a comparison, and the results of its last policy."""

    algorithm: Algorithm
    discount: float
    seed: int
    success: float
    """Share of the evaluation's episodes that are solved."""
    mean_return: float
    turns: float
    """Mean number of turns in an episode."""
    cpu_seconds: float
    """CPU time of the training."""
    curve: tuple[float, ...]
    """The share solved in each update of the training."""

    @property
    def variant(self) -> str:
        """What is compared: the algorithm and, if it uses one, the discount."""
        return _variant(self.algorithm, self.discount)


@dataclass(frozen=True, slots=True)
class TunedSetting:
    """The value of a setting that one of the compared variants was tuned to."""

    variant: str
    name: str
    """The setting's name."""
    solved_by_value: dict[Any, float]
    """The share solved at the end of the training with each value."""

    @property
    def value(self) -> Any:
        """The best value."""
        return max(self.solved_by_value, key=self.solved_by_value.__getitem__)


def plan(
    recipe: str, algorithms: Sequence[str], discounts: Sequence[float], seeds: int, updates: int | None
) -> list[TrainingSpec]:
    """The specifications of a comparison, those of each variant one after the other.

    GRPO has no discount, and where episodes have one turn, no algorithm does: there is one run for each seed then.

    Raises:
        InvalidArgument: if the recipe or an algorithm is unknown, or there are fewer than two seeds.
    """
    unknown = [name for name in algorithms if name not in ALGORITHMS]
    if unknown:
        raise InvalidArgument(f"There is no algorithm {unknown[0]!r}; choose from {', '.join(ALGORITHMS)}.")
    if seeds < 2:
        raise InvalidArgument("A comparison needs at least two seeds: with one there is no interval.")
    data = recipes.data(recipe) | ({} if updates is None else {"updates": updates})
    data |= {"keep_checkpoints": 1, "sample_episodes": 0, "checkpoint_seconds": 3600}
    one_turn = gem.spec(data["env_id"]).turns == "single"
    specs = []
    for algorithm in cast("Sequence[Algorithm]", algorithms):
        for discount in discounts[:1] if one_turn or not ALGORITHMS[algorithm].discounts else discounts:
            for seed in range(seeds):
                changes = {"algorithm": algorithm, "discount": discount, "seed": seed}
                specs.append(read_spec({**data, **changes}))
    return specs


def tune(
    specs: Sequence[TrainingSpec], name: str, values: Sequence[Any], folder: Path, on_trial: Callable[[str], None]
) -> tuple[list[TrainingSpec], list[TunedSetting]]:
    """Give the setting `name` the value with which each variant solves most; the specifications, and the results.

    A value is judged by the mean share solved over the last tenth of one training with `TUNING_SEED`.
    """
    tuned_specs: list[TrainingSpec] = []
    settings: list[TunedSetting] = []
    for variant, group in itertools.groupby(specs, lambda spec: _variant(spec.algorithm, spec.discount)):
        variant_specs, solved_by_value = list(group), {}
        for value in values:
            spec = _change(variant_specs[0], {name: value, "seed": TUNING_SEED})
            path = folder / "tuning" / f"{spec.algorithm}-{spec.discount:g}-{name}-{value}"
            solved_by_value[value] = _final_share(_train(spec, path))
            on_trial(f"{variant} with {name} {value}: solves {solved_by_value[value]:.0%} at the end of training")
        settings.append(TunedSetting(variant, name, solved_by_value))
        tuned_specs += [_change(spec, {name: settings[-1].value}) for spec in variant_specs]
    return tuned_specs, settings


def compare(
    specs: Iterable[TrainingSpec], folder: Path, on_run: Callable[[ComparedRun], None] | None = None
) -> list[ComparedRun]:
    """Train and evaluate each specification, except those whose results are in `folder`.

    Raises:
        UsageError: if the folder holds runs of other specifications.
    """
    runs = []
    for spec in specs:
        path = folder / f"{spec.algorithm}-{spec.discount:g}-{spec.seed}"
        curve = _train(spec, path)
        result = path / "result.json"
        if not result.exists():
            write_atomically(result, json.dumps(_evaluate(spec, path)))
        run = ComparedRun(**json.loads(result.read_text(encoding="utf-8")), curve=tuple(curve))
        runs.append(run)
        if on_run is not None:
            on_run(run)
    return runs


def _train(spec: TrainingSpec, path: Path) -> list[float]:
    """Train, or finish a training that was interrupted; the share solved in each update."""
    folder = RunFolder(path)
    folder.begin(spec)
    if folder.state().get("state") != "finished":
        from gem.training.trainer import train  # noqa: PLC0415 (takes seconds; planning and reporting do not need it)

        state = train(spec, path)
        if state == "interrupted":
            raise KeyboardInterrupt
        if state != "finished":
            raise UsageError(f"The training in {path} was {state}. Remove that folder to repeat it.")
    return [float(row["success"]) for row in folder.metrics()]


def _evaluate(spec: TrainingSpec, path: Path) -> dict[str, Any]:
    """The fields of a `ComparedRun`, its curve excepted."""
    from gem.training.checkpoints.checkpoint import list_checkpoints  # noqa: PLC0415 (as above)
    from gem.training.study.evaluation import evaluate  # noqa: PLC0415

    summary = evaluate(list_checkpoints(path / "checkpoints")[-1], spec, episodes=EVALUATION_EPISODES)
    assert summary.success is not None
    assert summary.mean_return is not None
    return {
        "algorithm": spec.algorithm,
        "discount": spec.discount,
        "seed": spec.seed,
        "success": summary.success.mean,
        "mean_return": summary.mean_return.mean,
        "turns": summary.mean_turns,
        "cpu_seconds": RunFolder(path).metrics()[-1]["cpu_seconds"],
    }


def figure(runs: Sequence[ComparedRun], title: str) -> str:
    """The share solved by update as an SVG picture, with a curve and a band for each variant."""
    curves = [Curve(name, [list(run.curve) for run in own_runs]) for name, own_runs in _by_variant(runs).items()]
    highest = max(value for run in runs for value in run.curve)
    return draw(curves, title, next(end for end in SCALE_ENDS if highest <= end))


def table(runs: Sequence[ComparedRun]) -> list[list[str]]:
    """A row for each variant with the columns of `HEADINGS`, the best variant first."""
    rows = []
    by_variant = _by_variant(runs)
    for variant, interval in _ranking(runs):
        own_runs = by_variant[variant]
        low, high = max(0.0, interval.low), min(1.0, interval.high)
        rows.append(
            [
                variant,
                str(len(own_runs)),
                f"{interval.mean:.0%}",
                f"{low:.0%} to {high:.0%}",
                " ".join(f"{run.success:.0%}" for run in own_runs),
                f"{_mean([_mean(run.curve) for run in own_runs]):.0%}",
                f"{_mean([run.mean_return for run in own_runs]):.2f}",
                f"{_mean([run.turns for run in own_runs]):.2f}",
                f"{_mean([run.cpu_seconds for run in own_runs]):.0f}",
            ]
        )
    return rows


def verdict(runs: Sequence[ComparedRun]) -> str:
    """A sentence about the order of the variants, as far as their intervals do not overlap."""
    ranking = _ranking(runs)
    claims = []
    for rank, (better, above) in enumerate(ranking, 1):
        worse = [name for name, below in ranking[rank:] if below.high < above.low]
        if worse:
            claims.append(f"{better} solves more than {_join(worse)}")
    if not claims:
        return "All intervals overlap: these runs show no order."
    return f"{'; '.join(claims)}. All other intervals overlap, and nothing is said about them."


def _variant(algorithm: Algorithm, discount: float) -> str:
    title = ALGORITHMS[algorithm].title
    return f"{title} {discount:g}" if ALGORITHMS[algorithm].discounts else title


def _change(spec: TrainingSpec, changes: dict[str, Any]) -> TrainingSpec:
    return read_spec({**spec.model_dump(mode="json"), **changes})


def _final_share(curve: Sequence[float]) -> float:
    """The mean over the last tenth of a curve."""
    return _mean(curve[-max(1, len(curve) // 10) :])


def _by_variant(runs: Sequence[ComparedRun]) -> dict[str, list[ComparedRun]]:
    grouped: dict[str, list[ComparedRun]] = {}
    for run in runs:
        grouped.setdefault(run.variant, []).append(run)
    return grouped


def _ranking(runs: Sequence[ComparedRun]) -> list[tuple[str, Interval]]:
    """The interval of each variant's share solved, the best variant first."""
    intervals = {
        name: student_t_interval([run.success for run in own_runs]) for name, own_runs in _by_variant(runs).items()
    }
    return sorted(intervals.items(), key=lambda item: -item[1].mean)


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
