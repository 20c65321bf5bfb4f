"""verifiers, from the package index and unmodified, loads our environment and evaluates a model on it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import gem
from tests.installed import environment
from tests.model_server import model_server

ROOT = Path(__file__).parents[2]
HELD_OUT = 10**6
EVALUATE = """
import json, os, sys
import verifiers as vf
from verifiers.types import ClientConfig

env = vf.load_environment("verifiers_env", num_train=4, num_eval=3, max_number=16)
assert len(env.get_dataset()) == 4
client = ClientConfig(api_key_var="KEY", api_base_url=sys.argv[1])
outputs = env.evaluate_sync(client, "bisect", num_examples=3, rollouts_per_example=2)
print(json.dumps([
    {"seed": one["info"]["seed"], "reward": one["reward"], "metrics": one["metrics"],
     "said": [message["content"] for message in one["completion"]]}
    for one in json.loads(json.dumps(outputs["outputs"], default=lambda message: message.model_dump()))
]))
"""


@pytest.mark.long
def test_verifiers_evaluates_a_model_on_it(tmp_path: Path) -> None:
    with model_server() as server:
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "KEY": "any", "PYTHONPATH": f"{ROOT}:{ROOT}/examples"}
        command = [environment("verifiers") / "python", "-c", EVALUATE, server.url]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    played: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    assert sorted(one["seed"] for one in played) == [number for number in range(HELD_OUT, HELD_OUT + 3) for _ in "ab"]
    for one in played:
        assert one["metrics"]["success"] == 1.0
        episode = gem.make("game:GuessTheNumber-v0-easy", max_number=16)
        episode.reset(seed=one["seed"])
        rewards = [episode.step(text)[1] for text in one["said"][::2]]
        assert one["reward"] == pytest.approx(sum(rewards))
