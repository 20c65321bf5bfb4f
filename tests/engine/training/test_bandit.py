"""Every algorithm finds the best arm."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from gem.credit import ALGORITHMS, CREDIT_UNITS
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_finds_the_best_arm(algorithm: str, small: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec(
        {
            **small,
            "algorithm": algorithm,
            "updates": 10,
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


@pytest.mark.parametrize("unit", ["token", "episode"])
@pytest.mark.parametrize("mode", ["transcript", "markov"])
def test_it_learns_with_another_unit_of_credit(unit: str, mode: str, small: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec({**small, "algorithm": "ppo", "credit_unit": unit, "input_mode": mode, "updates": 2})
    assert train(spec, tmp_path) == "finished"
    points = RunFolder(tmp_path).metrics()
    assert [point["value_loss"] > 0 for point in points] == [True, True]
    assert points[0]["zero_advantage_share"] == 0.0


@pytest.mark.long
@pytest.mark.parametrize("unit", CREDIT_UNITS)
@pytest.mark.parametrize("algorithm", ["rebn", "ppo"])
def test_it_finds_the_best_arm_whatever_an_action_is(
    unit: str, algorithm: str, small: dict[str, Any], tmp_path: Path
) -> None:
    settings = {"algorithm": algorithm, "credit_unit": unit, "updates": 25, "episodes": 64, "learning_rate": 1e-2}
    assert train(read_spec({**small, **settings, "checkpoint_seconds": 99}), tmp_path) == "finished"
    lately = [point["success"] for point in RunFolder(tmp_path).metrics()[-10:]]
    assert fmean(lately) > 0.8  # with this learning rate, a single update may undo much, and the next ones mend it
