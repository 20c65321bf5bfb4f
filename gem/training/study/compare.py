"""Algorithms side by side, with equal budgets, over several seeds: `gemweb bench algorithms`.

Every run has the same first policy, number of episodes and updates, learning rate and entropy bonus; only the algorithm
and the discount differ. Settings that were found with one algorithm favour it, so each may be tuned as much as every
other: it tries the same values of one setting, once each, and goes on with its best. What is compared is the share of
episodes that the last policy solves, on seeds that no training meets. Intervals are Student's over the seeds' means, so
that few seeds give wide ones, and an order is stated only between those that do not overlap.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gem
from gem.credit import ALGORITHMS, Algorithm
from gem.errors import InvalidArgument, UsageError
from gem.evaluation.scores import Interval, student_t_interval
from gem.training import recipes
from gem.training.run_folder import RunFolder, write_whole
from gem.training.spec import TrainingSpec, read_spec
from gem.training.study.curves import Curve, draw

EPISODES = 256
"""Of an evaluation."""
TUNING_SEED = 1_000_003
"""Of the trainings that only choose a value: none of those that are compared has it."""
HEADINGS = ["", "seeds", "solved", "95 % interval", "each seed", "area", "return", "turns", "CPU s"]
"""`area` is the mean share solved over all updates of training: the area under the curve."""
FIGURE = "solved.svg"
TOPS = (0.1, 0.25, 0.5, 1.0)
"""Where the scale of the figure may end."""


@dataclass(frozen=True, slots=True)
class Run:
    """One training of a comparison, and what its last policy solved."""

    algorithm: Algorithm
    discount: float
    seed: int
    success: float
    mean_return: float
    turns: float
    """Of an episode."""
    cpu_seconds: float
    curve: tuple[float, ...]
    """The share solved in each update of training."""

    @property
    def setting(self) -> str:
        """What is compared: the algorithm and, where it uses one, the discount."""
        return _setting(self.algorithm, self.discount)


@dataclass(frozen=True, slots=True)
class Choice:
    """What one of the compared settings was tuned to."""

    setting: str
    entry: str
    tried: dict[Any, float]
    """The share solved at the end of training with each value."""

    @property
    def value(self) -> Any:
        """The best one."""
        return max(self.tried, key=self.tried.__getitem__)


def plan(
    recipe: str, algorithms: Sequence[str], discounts: Sequence[float], seeds: int, updates: int | None
) -> list[TrainingSpec]:
    """The specifications of a comparison, each setting's beside each other.

    GRPO has no discount, and where an episode is one turn there is nothing to discount: one run for each seed then.

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
    for algorithm in algorithms:
        for discount in discounts[:1] if one_turn or not ALGORITHMS[algorithm].discounts else discounts:
            for seed in range(seeds):
                changes = {"algorithm": algorithm, "discount": discount, "seed": seed}
                specs.append(read_spec({**data, **changes}))
    return specs


def tune(
    specs: Sequence[TrainingSpec], entry: str, values: Sequence[Any], folder: Path, on_try: Callable[[str], None]
) -> tuple[list[TrainingSpec], list[Choice]]:
    """The specifications with the value of `entry` that each setting solves most with, and what was tried for it.

    A value is judged by the mean share solved over the last tenth of one training with `TUNING_SEED`.
    """
    tuned: list[TrainingSpec] = []
    choices: list[Choice] = []
    for setting, group in itertools.groupby(specs, lambda spec: _setting(spec.algorithm, spec.discount)):
        own, tried = list(group), {}
        for value in values:
            spec = _changed(own[0], {entry: value, "seed": TUNING_SEED})
            place = folder / "tuning" / f"{spec.algorithm}-{spec.discount:g}-{entry}-{value}"
            tried[value] = _at_the_end(_trained(spec, place))
            on_try(f"{setting} with {entry} {value}: solves {tried[value]:.0%} at the end of training")
        choices.append(Choice(setting, entry, tried))
        tuned += [_changed(spec, {entry: choices[-1].value}) for spec in own]
    return tuned, choices


def compare(specs: Iterable[TrainingSpec], folder: Path, on_run: Callable[[Run], None] | None = None) -> list[Run]:
    """Run and evaluate each specification; those that `folder` holds already are not run again.

    Raises:
        UsageError: if it holds runs of other specifications.
    """
    runs = []
    for spec in specs:
        place = folder / f"{spec.algorithm}-{spec.discount:g}-{spec.seed}"
        curve = _trained(spec, place)
        result = place / "result.json"
        if not result.exists():
            write_whole(result, json.dumps(_evaluated(spec, place)))
        run = Run(**json.loads(result.read_text(encoding="utf-8")), curve=tuple(curve))
        runs.append(run)
        if on_run is not None:
            on_run(run)
    return runs


def _trained(spec: TrainingSpec, place: Path) -> list[float]:
    """The share solved in each update, after training what is not there yet."""
    folder = RunFolder(place)
    folder.begin(spec)
    if folder.state().get("state") != "finished":
        from gem.training.trainer import train  # noqa: PLC0415 (torch takes seconds; planning and reporting need none)

        ended = train(spec, place)
        if ended == "interrupted":
            raise KeyboardInterrupt
        if ended != "finished":
            raise UsageError(f"The training in {place} was {ended}. Remove that folder to have it done anew.")
    return [float(point["success"]) for point in folder.metrics()]


def _evaluated(spec: TrainingSpec, place: Path) -> dict[str, Any]:
    from gem.training.checkpoints import checkpoint  # noqa: PLC0415 (as above)
    from gem.training.study.evaluation import evaluate  # noqa: PLC0415

    summary = evaluate(checkpoint.checkpoints(place / "checkpoints")[-1], spec, episodes=EPISODES)
    assert summary.success is not None
    assert summary.mean_return is not None
    return {
        "algorithm": spec.algorithm,
        "discount": spec.discount,
        "seed": spec.seed,
        "success": summary.success.mean,
        "mean_return": summary.mean_return.mean,
        "turns": summary.mean_turns,
        "cpu_seconds": RunFolder(place).metrics()[-1]["cpu_seconds"],
    }


def figure(runs: Sequence[Run], title: str) -> str:
    """The share solved by update as an SVG picture, a curve with a band for each setting."""
    settings = dict.fromkeys(run.setting for run in runs)
    curves = [Curve(name, [list(run.curve) for run in runs if run.setting == name]) for name in settings]
    highest = max(value for run in runs for value in run.curve)
    return draw(curves, title, next(top for top in TOPS if highest <= top))


def table(runs: Sequence[Run]) -> list[list[str]]:
    """A row for each setting, as `HEADINGS` says; the best first."""
    rows = []
    for setting, interval in sorted(_intervals(runs).items(), key=lambda entry: -entry[1].mean):
        own = [run for run in runs if run.setting == setting]
        low, high = max(0.0, interval.low), min(1.0, interval.high)
        rows.append(
            [
                setting,
                str(len(own)),
                f"{interval.mean:.0%}",
                f"{low:.0%} to {high:.0%}",
                " ".join(f"{run.success:.0%}" for run in own),
                f"{_mean([_mean(run.curve) for run in own]):.0%}",
                f"{_mean([run.mean_return for run in own]):.2f}",
                f"{_mean([run.turns for run in own]):.2f}",
                f"{_mean([run.cpu_seconds for run in own]):.0f}",
            ]
        )
    return rows


def verdict(runs: Sequence[Run]) -> str:
    """What may be said of the order: only of settings whose intervals do not overlap."""
    intervals = sorted(_intervals(runs).items(), key=lambda entry: -entry[1].mean)
    claims = []
    for place, (better, above) in enumerate(intervals):
        worse = [name for name, below in intervals[place + 1 :] if below.high < above.low]
        if worse:
            claims.append(f"{better} solves more than {_listed(worse)}")
    if not claims:
        return "All intervals overlap: these runs show no order."
    return f"{'; '.join(claims)}. All other intervals overlap, and nothing is said about them."


def _setting(algorithm: Algorithm, discount: float) -> str:
    title = ALGORITHMS[algorithm].title
    return f"{title} {discount:g}" if ALGORITHMS[algorithm].discounts else title


def _changed(spec: TrainingSpec, changes: dict[str, Any]) -> TrainingSpec:
    return read_spec({**spec.model_dump(mode="json"), **changes})


def _at_the_end(curve: Sequence[float]) -> float:
    return _mean(curve[-max(1, len(curve) // 10) :])


def _intervals(runs: Sequence[Run]) -> dict[str, Interval]:
    settings = dict.fromkeys(run.setting for run in runs)
    return {name: student_t_interval([run.success for run in runs if run.setting == name]) for name in settings}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
