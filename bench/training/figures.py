"""The figures of docs/algorithms/rebn.md and docs/collapsed-runs.md, from runs that it makes unless they are there.

    python -m bench.training.figures [--folder runs/figures] [--out docs/images/learning]

All runs are of `game:GuessTheNumber-v0-easy` from nano-base, 40 updates of 128 episodes; together they take about three
CPU minutes. What the broken ones are told besides is in BROKEN. Six more, of the recipe `guess-easy` with and without
its wrapper, take five.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gem.credit import ALGORITHMS, Algorithm, moments, normalize, returns_to_go
from gem.records import episode_files
from gem.training import recipes
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.study.curves import COLOURS, INK, Curve, draw, drawing

COMMON: dict[str, Any] = {
    "env_id": "game:GuessTheNumber-v0-easy",
    "input_mode": "transcript",
    "discount": 0.9,
    "episodes": 128,
    "updates": 40,
    "learning_rate": 1e-3,
    "entropy_bonus": 0.002,
    "max_tokens": 12,
    "max_length": 512,
    "sample_every": 40,
    "sample_episodes": 128,
    "exam_episodes": 0,
    "checkpoint_seconds": 86400,
    "keep_checkpoints": 1,
}
SEEDS = (0, 1, 2)
COMPARED: tuple[Algorithm, ...] = ("rebn", "reinforce")
BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "scattered": ("ReBN with an entropy bonus of 0.2, a hundred times too much", {"entropy_bonus": 0.2}),
    "steps-too-long": ("ReBN with a learning rate of 3e-2, thirty times too much", {"learning_rate": 3e-2}),
}
"""How to break a run: the name of its figure, its title, and what is changed."""
BROKEN_UPDATES = 25
REWARDS: dict[str, dict[str, Any]] = {"success alone": {}, "near misses": {"wrappers": []}}
"""What the recipe `guess-easy` pays for: the name of its curve and what is changed."""
BINS = 24
LOWEST, HIGHEST = -0.2, 1.1
"""The returns that a histogram shows."""


ENTRIES = {"success": "solved", "invalid": "format faults", "against_rules": "against rules", "entropy": "entropy"}
"""What to look at first in a run, and what the figures call it."""


def main() -> None:
    """Train what is not there yet, and draw."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.figures", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/figures"), help="of the runs (runs/figures)")
    parser.add_argument("--out", type=Path, default=Path("docs/images/learning"), help="of the figures")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    runs = {algorithm: [_run(arguments.folder, algorithm, seed) for seed in SEEDS] for algorithm in COMPARED}
    figures = {
        "one-batch": histogram(_returns(runs["rebn"][0])),
        "rebn-solved": draw(_curves(runs, "success"), "Share of episodes solved, by update; three seeds each", 1.0),
        "rebn-entropy": draw(_curves(runs, "entropy"), "Entropy in nats, by update; three seeds each", 1.0),
        "healthy": draw(_entries(runs["rebn"][2]), "ReBN, seed 2: as it should be", 1.0),
        "stumbling": draw(_entries(runs["rebn"][0]), "ReBN, seed 0: the same settings", 1.0),
        "settled": draw(_entries(runs["reinforce"][0]), "REINFORCE, seed 0", 1.0),
    }
    for name, (title, changes) in BROKEN.items():
        place = _run(arguments.folder, "rebn", 0, name, updates=BROKEN_UPDATES, **changes)
        figures[name] = draw(_entries(place), title, 1.0)
    paid = [Curve(name, [_success(arguments.folder, name, seed) for seed in SEEDS]) for name in REWARDS]
    figures["near-misses"] = draw(paid, "Share of episodes solved, by update; three seeds each", 1.0)
    for name, figure in figures.items():
        (arguments.out / f"{name}.svg").write_text(figure, encoding="utf-8")


def _run(folder: Path, algorithm: Algorithm, seed: int, name: str = "", **changes: Any) -> Path:
    """The folder of a run, trained if it is not finished."""
    from gem.training.trainer import train

    place = folder / (name or f"{algorithm}-{seed}")
    train(read_spec({**COMMON, "algorithm": algorithm, "seed": seed, **changes}), place)
    _report(place)
    return place


def _success(folder: Path, name: str, seed: int) -> list[float]:
    """The share of episodes solved in each update of `guess-easy`, trained if it is not finished."""
    from gem.training.trainer import train

    place = folder / f"{name.replace(' ', '-')}-{seed}"
    train(read_spec({**recipes.data("guess-easy"), "seed": seed, **REWARDS[name]}), place)
    _report(place)
    return [row["success"] for row in RunFolder(place).metrics()]


def _report(place: Path) -> None:
    last = RunFolder(place).metrics()[-1]
    print(f"{place.name}: solved {last['success']:.2f}, entropy {last['entropy']:.3f}, invalid {last['invalid']:.3f}")


def _curves(runs: dict[Algorithm, list[Path]], entry: str) -> list[Curve]:
    """A curve for each algorithm, over its seeds."""
    return [
        Curve(ALGORITHMS[algorithm].title, [[row[entry] for row in RunFolder(place).metrics()] for place in places])
        for algorithm, places in runs.items()
    ]


def _entries(place: Path) -> list[Curve]:
    """What to look at first in a run, on one scale; an entropy above 1 nat is divided by so much that it fits."""
    rows = RunFolder(place).metrics()
    curves = []
    for entry, name in ENTRIES.items():
        values = [float(row[entry]) for row in rows]
        scale = max(1, math.ceil(max(values)))
        curves.append(Curve(f"{name} / {scale}" if scale > 1 else name, [[value / scale for value in values]]))
    return curves


def _returns(place: Path) -> list[list[float]]:
    """The return of each turn of a run's first batch, as REINFORCE credits it."""
    stored = episode_files.read(place / "episodes" / "000001.jsonl")
    return [returns_to_go([turn.reward for turn in one.record.turns], COMMON["discount"]) for one in stored]


def histogram(returns: Sequence[Sequence[float]]) -> str:
    """How often each return was earned, coloured by the sign of the turn's advantage, with both scales."""
    together = [value for turns in returns for value in turns]
    mean, deviation = moments(together)
    advantages = [value for turns in normalize(returns) for value in turns]
    assert all((advantage > 0) == (earned > mean) for advantage, earned in zip(advantages, together, strict=True))
    with drawing(f"{len(together)} turns of one batch by what was earned from them on") as picture:
        axes = picture.axes
        signs = [[value for value in together if value <= mean], [value for value in together if value > mean]]
        axes.hist(signs, bins=BINS, range=(LOWEST, HIGHEST), color=(COLOURS[1], COLOURS[0]), stacked=True)
        axes.axvline(mean, color=INK, lw=1)
        axes.set(xlabel="return from the turn on, G", ylabel="turns")
        above = axes.secondary_xaxis(
            "top", functions=(lambda g: (g - mean) / deviation, lambda a: a * deviation + mean)
        )
        above.set_xlabel("advantage of ReBN, A")
        return picture.svg()


if __name__ == "__main__":
    main()
