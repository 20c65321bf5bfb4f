"""Episodes for SkyRL: an environment of its gym, which its generator drives.

Checked: interface checked against skyrl-gym 0.4.0.

SkyRL makes an environment for each rollout from a row of its data set, and exchanges messages with the policy. The rows
of `rows` name our environment and a seed; a row that is repeated for a group is the same seed.

    python -m examples.skyrl_env data/guess    # writes train.parquet and validation.parquet

Import this module in the entry point of your training, before SkyRL makes environments: that registers `gem`. Then set
`data.train_data` and `data.val_data` to the two files, `environment.env_class=gem` and `generator.max_turns`. Training
needs a GPU node. For another environment, set GEM_ENV_ID.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from skyrl_gym.envs.registration import register

import gem
from gem.wrappers.observation_wrapper import as_message

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
NAME = "gem"


class GemTextEnv(BaseTextEnv):
    """One episode of one of our environments; SkyRL uses each object once."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.env = gem.make(ENV_ID)
        self.seed = int((extras or {})["seed"])
        self.rewards: list[float] = []
        self.info: dict[str, Any] = {}

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """The first message of the episode, in the place of the row's prompt, which only names the seed."""
        observation, self.info = self.env.reset(seed=self.seed)
        return [{"role": "user", "content": as_message(observation, self.info)}], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take a turn with a reply of the policy."""
        observation, reward, terminated, truncated, self.info = self.env.step(action)
        done = terminated or truncated
        self.rewards.append(reward)
        message = {"role": "user", "content": as_message(observation, self.info)}
        return BaseTextEnvStepOutput(
            observations=[] if done else [message], reward=reward, done=done, metadata=self.get_metrics()
        )

    def get_metrics(self) -> dict[str, Any]:
        """What SkyRL logs as the mean over episodes."""
        return {
            "success": float(self.info.get("success", False)),
            "return": sum(self.rewards),
            "turns": len(self.rewards),
        }

    def close(self) -> None:
        """Release what the environment holds, such as the connection to a server."""
        self.env.close()


def rows(seeds: range) -> list[dict[str, Any]]:
    """A data set with one row for each seed. SkyRL measures the length of prompts, so there is one."""
    return [{"prompt": [{"role": "user", "content": f"seed {n}"}], "env_class": NAME, "seed": n} for n in seeds]


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows(range(4096))).to_parquet(folder / "train.parquet")
    pd.DataFrame(rows(range(10**6, 10**6 + 200))).to_parquet(folder / "validation.parquet")


register(id=NAME, entry_point="examples.skyrl_env:GemTextEnv")

if __name__ == "__main__":
    main()
