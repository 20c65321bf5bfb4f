"""Difficulty that follows success: up where much is solved, and down where little is."""

from pathlib import Path
from typing import Any

import pytest

from gem.errors import InvalidArgument
from gem.training.progress import Progress
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec
from gem.training.trainer import train
from tests.engine.training.conftest import BANDIT
from tests.engine.training.test_runs import same_weights, untimed


@pytest.fixture
def adaptive(small: dict[str, Any]) -> dict[str, Any]:
    """One round of the bandit, then two, then three: the same policy solves ever fewer."""
    stages = [{"env_id": BANDIT, "env_kwargs": {"rounds": rounds}} for rounds in (1, 2)]
    return {**small, "env_kwargs": {"rounds": 3}, "curriculum": stages, "target_success": 0.5, "level_step": 1.0}


def levels(spec: TrainingSpec, *successes: float) -> list[float]:
    progress, found = Progress(), []
    for success in successes:
        progress.follow_success(spec, success)
        progress.update += 1
        found.append(progress.level)
    return found


def test_a_fork_goes_on_within_its_own_stages(adaptive: dict[str, Any]) -> None:
    spec = read_spec(adaptive)
    shorter = read_spec({**adaptive, "curriculum": adaptive["curriculum"][:1]})
    progress = Progress(level=1.6, stage=2)
    progress.enter(shorter)
    assert (progress.level, progress.stage) == (1.0, 1)
    assert progress.stage_of(shorter, 0) == shorter.stages[1]
    began_adaptive = Progress(stage=2)
    began_adaptive.enter(spec)
    assert began_adaptive.level == 2.0, "its parent had reached the last stage"


def test_it_goes_up_and_down_and_stays_within_the_stages(adaptive: dict[str, Any]) -> None:
    spec = read_spec(adaptive)
    rising = levels(spec, 1.0, 1.0, 1.0, 1.0)
    assert rising == sorted(rising)
    assert rising[0] == pytest.approx(0.762, abs=1e-3)  # tanh(1)
    assert rising[-1] == 2.0
    assert levels(spec, 1.0, 0.5)[-1] == rising[0], "at the target it stays"
    assert levels(spec, 1.0, 0.2)[-1] < rising[0]
    assert levels(spec, 0.0, 0.0)[-1] == 0.0


def test_a_level_between_two_stages_plays_both(adaptive: dict[str, Any]) -> None:
    spec, progress = read_spec(adaptive), Progress(update=3, level=1.25)
    rounds = [progress.stage_of(spec, group).env_kwargs["rounds"] for group in range(400)]
    assert set(rounds) == {2, 3}
    assert 60 <= rounds.count(3) <= 140
    again = [progress.stage_of(spec, group).env_kwargs["rounds"] for group in range(400)]
    assert rounds == again
    whole = Progress(level=2.0)
    assert {whole.stage_of(spec, group).env_kwargs["rounds"] for group in range(50)} == {3}


def test_a_training_goes_on_as_if_it_had_never_stopped(adaptive: dict[str, Any], tmp_path: Path) -> None:
    spec, whole, broken = read_spec(adaptive), tmp_path / "whole", tmp_path / "broken"
    train(spec, whole)

    def cancel(row: dict[str, float]) -> None:
        if row["update"] == 2:
            (broken / "cancel").touch()

    assert train(spec, broken, cancel) == "cancelled"
    (broken / "cancel").unlink()
    assert train(spec, broken) == "finished"
    assert same_weights(whole, broken)
    assert untimed(whole) == untimed(broken)
    found = [row["level"] for row in RunFolder(whole).metrics()]
    assert found[0] == 0.0
    assert len(set(found)) > 1


def test_without_a_target_stages_come_in_order(adaptive: dict[str, Any]) -> None:
    spec = read_spec({**adaptive, "target_success": 0})
    progress = Progress()
    for _ in range(5):
        progress.follow_success(spec, 0.9)
    assert progress.stage == 1
    assert progress.level == 0.0
    assert progress.stage_of(spec, 7).env_kwargs == {"rounds": 2}


def test_a_target_needs_stages(small: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="give easier ones as curriculum"):
        read_spec({**small, "target_success": 0.5})
