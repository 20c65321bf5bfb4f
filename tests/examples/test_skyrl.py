"""SkyRL's gym, from the package index and unmodified, makes and drives our environment; its trainer needs GPUs."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.examples.scripted import expert_plays, several_turns
from tests.installed import environment

ROOT = Path(__file__).parents[2]
PLAY = """
import json, sys
import pandas, skyrl_gym
from examples import skyrl_env

sys.argv = ["skyrl_env", sys.argv[1], sys.argv[2], sys.argv[3]]
actions, seed = json.loads(sys.argv[2]), int(sys.argv[3])
skyrl_env.main()
row = pandas.read_parquet(f"{sys.argv[1]}/train.parquet").to_dict("records")[seed]
env = skyrl_gym.make(row["env_class"], env_config={}, extras=row)
conversation, _ = env.init(list(row["prompt"]))
taken = [env.step(action) for action in actions]
print(json.dumps({
    "messages": [conversation] + [one["observations"] for one in taken],
    "rewards": [one["reward"] for one in taken], "done": [one["done"] for one in taken],
    "metrics": type(env).aggregate_metrics([env.get_metrics(), {"success": 0.0, "return": 0.0, "turns": 0}]),
}))
env.close()
"""


@pytest.mark.long
def test_skyrl_plays_an_episode_as_the_engine_does(tmp_path: Path) -> None:
    seed = several_turns()
    actions, rewards, messages = expert_plays(seed)
    command = [environment("skyrl-gym") / "python", "-c", PLAY, tmp_path, json.dumps(actions), str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    played: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    said = [[{"role": "user", "content": message}] for message in messages]
    assert played["messages"] == [*said[:-1], []]
    assert played["rewards"] == rewards
    assert played["done"] == [False] * (len(actions) - 1) + [True]
    assert played["metrics"]["success"] == 0.5
    assert played["metrics"]["turns"] == len(actions) / 2
