"""A short training of a small policy: does its success rise within a budget?"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gem import registry
from gem.learnability.report import Training
from gem.validation.dependencies import TRAINING_PACKAGES, require_installed

HELD_OUT = 200
UPDATES = 1000
"""More than fit into a budget; the budget ends the training."""
SETTINGS: Mapping[str, Any] = {
    "algorithm": "rebn",
    "episodes": 256,
    "updates": UPDATES,
    "epochs": 1,
    "minibatches": 4,
    "learning_rate": 1.5e-3,
    "entropy_bonus": 0.003,
    "max_tokens": 12,
    "max_length": 512,
    "sample_episodes": 0,
    "keep_checkpoints": 1,
    "checkpoint_seconds": 86_400.0,
}


def train_briefly(env_id: str, cpu_seconds: float, *, seed: int = 0, **changes: Any) -> Training:
    """Train `nano-base` in the environment for about so many CPU seconds, and measure it before and after.

    Episodes of several turns are tried in two ways with half of the time each, and the better result counts: the
    policy reads the present board alone, or the whole episode.

    Raises:
        MissingDependency: if the packages for trainings are not installed.
    """
    require_installed("A training", TRAINING_PACKAGES)
    modes = ("transcript",) if registry.spec(env_id).turns == "single" else ("markov", "transcript")
    found = [_train(env_id, cpu_seconds / len(modes), {"seed": seed, "input_mode": mode, **changes}) for mode in modes]
    return max(found, key=lambda training: training.after - training.before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out the alarms of a training, for which there is the verdict."""
    logger = logging.getLogger("gem.training")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _train(env_id: str, cpu_seconds: float, changes: Mapping[str, Any]) -> Training:
    from gem.training.checkpoints.checkpoint import list_checkpoints  # noqa: PLC0415 (importing torch takes seconds)
    from gem.training.run_folder import RunFolder  # noqa: PLC0415
    from gem.training.spec import read_spec  # noqa: PLC0415
    from gem.training.study.evaluation import play  # noqa: PLC0415
    from gem.training.trainer import train  # noqa: PLC0415

    spec = read_spec({**SETTINGS, "env_id": env_id, **changes})

    def solved(path: str | Path) -> int:
        return sum(bool(record.success) for record in play(path, spec, episodes=HELD_OUT))

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"

        def stop_in_time(metrics: Mapping[str, float]) -> None:
            if metrics["cpu_seconds"] >= cpu_seconds:
                (folder / "cancel").touch()

        before = solved(spec.model)
        with _quiet():
            train(spec, folder, stop_in_time)
        metrics = RunFolder(folder).metrics()[-1]
        after = solved(list_checkpoints(folder / "checkpoints")[-1])
    reads = "the present board" if spec.input_mode == "markov" else "the whole episode"
    return Training(before, after, HELD_OUT, int(metrics["update"]), float(metrics["cpu_seconds"]), reads)
