"""Episodes for verifiers: a module with `load_environment`, for its evaluations and for the trainers that use it.

Checked: run on CPU in tests (verifiers 0.2.1).

verifiers makes the environment once, with a data set whose rows are seeds, and plays every row with a model behind an
OpenAI-compatible server. `load_environment` takes the id of any environment, one that lives on a site too:

    vf-eval verifiers_env -p examples -m MODEL -b http://127.0.0.1:8001/v1 -k KEY_VARIABLE

verifiers 0.4 has no `load_environment` any more. Its task set for OpenEnv plays the environments of a site by their
addresses instead, without a file of ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import verifiers as vf
from datasets import Dataset

import gem
from gem.wrappers.observation_wrapper import as_message

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
HELD_OUT = 10**6
"""The first seed of the rows for evaluations; those for training begin at 0."""


class GemEnv(vf.MultiTurnEnv):
    """The episodes of one environment; each rollout makes its own."""

    def __init__(self, env_id: str, env_kwargs: dict[str, Any], num_train: int, num_eval: int, **settings: Any) -> None:
        self.make: Callable[[], gem.Env] = lambda: gem.make(env_id, **env_kwargs)
        super().__init__(
            dataset=lambda: self.rows(0, num_train), eval_dataset=lambda: self.rows(HELD_OUT, num_eval), **settings
        )

    def rows(self, first: int, count: int) -> Dataset:
        """A row for each seed: the first message of its episode, and the seed."""
        env, found = self.make(), []
        for seed in range(first, first + count):
            message = as_message(*env.reset(seed=seed))
            found.append({"prompt": [{"role": "user", "content": message}], "info": {"seed": seed}})
        env.close()
        return Dataset.from_list(found)

    async def setup_state(self, state: vf.State) -> vf.State:
        """Begin the episode of the row's seed."""
        state["episode"], state["rewards"], state["success"] = self.make(), [], False
        state["episode"].reset(seed=state["info"]["seed"])
        return state

    async def env_response(self, messages: vf.Messages, state: vf.State, **_: Any) -> vf.Messages:
        """Take a turn with the last reply of the model."""
        observation, reward, terminated, truncated, info = state["episode"].step(messages[-1]["content"] or "")
        state["rewards"].append(reward)
        state["success"] = bool(info.get("success", False))
        answer = [{"role": "user", "content": as_message(observation, info)}]
        if terminated or truncated:
            state["final_env_response"] = answer
        return answer

    @vf.cleanup
    async def end(self, state: vf.State) -> None:
        """Release what the episode holds, such as the connection to a server."""
        state.pop("episode").close()


async def episode_return(state: vf.State) -> float:
    """The sum of the rewards, which is what is trained on."""
    return sum(state["rewards"])


async def success(state: vf.State) -> float:
    """Whether the problem was solved; a metric."""
    return float(state["success"])


def load_environment(
    env_id: str = ENV_ID, num_train: int = 1000, num_eval: int = 100, **env_kwargs: Any
) -> vf.Environment:
    """What verifiers calls with the arguments of the user."""
    rubric = vf.Rubric(funcs=[episode_return])
    rubric.add_metric(success)
    return GemEnv(env_id, env_kwargs, num_train, num_eval, rubric=rubric)
