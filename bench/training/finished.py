"""A training of a recipe that was made to its end, for the commands that measure recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from gem.training import recipes
from gem.training.spec import TrainingSpec, read_spec

QUIET = {"sample_episodes": 0, "keep_checkpoints": 1, "checkpoint_seconds": 300}


class Finished(NamedTuple):
    """What a training left."""

    spec: TrainingSpec
    checkpoint: Path
    """The last one."""
    metrics: list[dict[str, Any]]


def trained(name: str, seed: int, place: Path, **changes: Any) -> Finished:
    """Train a recipe with a seed in a folder, from where an earlier process left it.

    Raises:
        SystemExit: if the training did not finish.
    """
    from gem.training.checkpoints.checkpoint import list_checkpoints
    from gem.training.run_folder import RunFolder
    from gem.training.trainer import train

    spec = read_spec({**recipes.data(name), **QUIET, **changes, "seed": seed})
    state = train(spec, place)
    if state != "finished":
        raise SystemExit(f"{name}, seed {seed}: the training was {state}. The same command with --folder goes on.")
    return Finished(spec, list_checkpoints(place / "checkpoints")[-1], RunFolder(place).metrics())
