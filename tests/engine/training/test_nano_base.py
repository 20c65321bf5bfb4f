"""The recipes' first policies, and that training from it teaches something."""

from pathlib import Path

import pytest

from gem.rollout import EpisodeRequest, rollout
from gem.training import recipes
from gem.training.policy.policy_agent import PolicyAgent
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train


@pytest.mark.parametrize(
    ("policy", "env_id"),
    [
        ("nano-base", "game:GuessTheNumber-v0-easy"),
        ("nano-wide", "game:GuessTheNumber-v0-easy"),
        ("nano-wide", "duel:KuhnPoker-v0-vs-random"),
        ("nano-wide", "rg:gcd"),
        ("nano-large", "rg:count_bits"),
        ("nano-large", "game:Mastermind-v0-easy"),
    ],
)
def test_it_knows_how_actions_are_written(policy: str, env_id: str) -> None:
    slots = [EpisodeRequest(i, env_id, seed=i) for i in range(64)]
    records = list(rollout(PolicyAgent(policy, max_tokens=12), slots, num_envs=64))
    turns = [turn for record in records for turn in record.turns]
    faults = sum(turn.info.get("error") == "format" for turn in turns)
    assert faults <= 0.02 * len(turns)


def test_nano_tools_calls_python() -> None:
    config = {"config": {"min_terms": 2, "max_terms": 2, "min_digits": 2, "max_digits": 2}}
    tools = [{"name": "python_tool_no_int_reward"}]
    slots = [EpisodeRequest(i, "rg:products", seed=i, env_kwargs=config, wrappers=tools) for i in range(32)]
    records = list(rollout(PolicyAgent("nano-tools", max_tokens=24), slots, num_envs=32))
    calls = [turn.info.get("tool_calls", ()) for record in records for turn in record.turns]
    assert sum(map(len, calls)) > len(records) / 2


@pytest.mark.long
def test_a_short_training_raises_the_return(tmp_path: Path) -> None:
    data = recipes.data("guess-easy") | {
        "episodes": 128,
        "updates": 14,
        "checkpoint_seconds": 999,
        "schedule": "constant",
        "wrappers": [],  # what the game pays rises sooner than success
    }
    train(read_spec(data), tmp_path)
    returns = [row["return"] for row in RunFolder(tmp_path).metrics()]
    assert sum(returns[-3:]) / 3 > sum(returns[:3]) / 3 + 0.02
