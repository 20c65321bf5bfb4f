"""Every algorithm finds the best arm."""

from pathlib import Path
from typing import Any

import pytest

from gem.credit import ALGORITHMS
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_finds_the_best_arm(algorithm: str, small: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec(
        {
            **small,
            "algorithm": algorithm,
            "updates": 25,
            "episodes": 64,
            "learning_rate": 1e-2,
            "checkpoint_seconds": 99,
        }
    )
    assert train(spec, tmp_path) == "finished"
    points = RunFolder(tmp_path).metrics()
    assert points[0]["success"] < 0.25
    assert points[-1]["success"] > 0.8
    assert points[-1]["return"] > points[0]["return"] + 0.5


def test_it_learns_from_boards_alone(small: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec({**small, "input_mode": "markov", "updates": 3})
    train(spec, tmp_path)
    assert len(RunFolder(tmp_path).metrics()) == 3
