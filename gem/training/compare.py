"""Algorithms side by side, with equal budgets, over several seeds: `gemweb bench algorithms`.

Every run has the same first policy, number of episodes and updates, learning rate and entropy bonus; only the algorithm
and the discount differ. What is compared is the share of episodes that the last policy solves, on seeds that no
training meets. Intervals are Student's over the seeds' means, so that few seeds give wide ones, and an order is stated
only between those that do not overlap.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem.credit import ALGORITHMS, NAMES, Algorithm
from gem.errors import InvalidArgument
from gem.evaluate import Interval, student
from gem.training import recipes
from gem.training.run_folder import RunFolder, write_whole
from gem.training.spec import TrainingSpec, read_spec

EPISODES = 256
"""Of an evaluation."""
HEADINGS = ["", "seeds", "solved", "95 % interval", "each seed", "return", "turns", "CPU s"]


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

    @property
    def setting(self) -> str:
        """What is compared: the algorithm and, where it uses one, the discount."""
        name = NAMES[self.algorithm]
        return name if self.algorithm == "grpo" else f"{name} {self.discount:g}"


def plan(
    recipe: str, algorithms: Sequence[str], discounts: Sequence[float], seeds: int, updates: int | None
) -> list[TrainingSpec]:
    """The specifications of a comparison. GRPO has no discount and is run once for each seed.

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
    specs = []
    for algorithm in algorithms:
        for discount in discounts[:1] if algorithm == "grpo" else discounts:
            for seed in range(seeds):
                changes = {"algorithm": algorithm, "discount": discount, "seed": seed}
                specs.append(read_spec({**data, **changes}))
    return specs


def compare(specs: Iterable[TrainingSpec], folder: Path, on_run: Callable[[Run], None] | None = None) -> list[Run]:
    """Run and evaluate each specification; those that `folder` holds already are not run again."""
    runs = []
    for spec in specs:
        place = folder / f"{spec.algorithm}-{spec.discount:g}-{spec.seed}"
        result = place / "result.json"
        if not result.exists():
            write_whole(result, json.dumps(_run(spec, place)))
        run = Run(**json.loads(result.read_text(encoding="utf-8")))
        runs.append(run)
        if on_run is not None:
            on_run(run)
    return runs


def _run(spec: TrainingSpec, place: Path) -> dict[str, Any]:
    from gem.training import checkpoint  # noqa: PLC0415 (torch takes seconds; planning and reporting need none)
    from gem.training.evaluation import evaluate  # noqa: PLC0415
    from gem.training.trainer import train  # noqa: PLC0415

    train(spec, place)
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


def _intervals(runs: Sequence[Run]) -> dict[str, Interval]:
    settings = dict.fromkeys(run.setting for run in runs)
    return {name: student([run.success for run in runs if run.setting == name]) for name in settings}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
