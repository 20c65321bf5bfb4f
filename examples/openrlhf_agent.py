"""Episodes for OpenRLHF: the agent that its multi-turn executor plays (`--train.agent_func_path`).

Checked: interface checked against openrlhf 0.11.2.

OpenRLHF makes one `Episode` for each prompt, tokenizes what `reset` returns, samples, and gives the text to `step`.
What `step` answers (`environment_feedback`) it appends as tokens that are not learned from. Each row of the data set
is a seed:

    python -c "import json; [print(json.dumps({'input': str(s), 'label': ''})) for s in range(4096)]" > seeds.jsonl
    GEM_MODEL=Qwen/Qwen3-1.7B python -m openrlhf.cli.train_ppo_ray \
        --train.agent_func_path examples/openrlhf_agent.py --data.prompt_dataset seeds.jsonl --data.input_key input ...

on a GPU node; the other options are those of OpenRLHF's own examples. For another environment change ENV_ID.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor
from transformers import AutoTokenizer

import gem
from gem.adapters.tokens import follow_up, opening

ENV_ID = "game:GuessTheNumber-v0-easy"


@cache
def tokenizer() -> Any:
    """Of the model that is trained: OpenRLHF gives texts, and the chat template is the tokenizer's."""
    return AutoTokenizer.from_pretrained(os.environ["GEM_MODEL"])


class Episode(AgentInstanceBase):
    """One episode; OpenRLHF makes a new one for every prompt."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.env = gem.make(ENV_ID)

    async def reset(self, states: dict[str, Any], **kwargs: Any) -> dict[str, str]:
        """Begin the episode whose seed is the row's prompt."""
        observation, info = self.env.reset(seed=int(states["observation"]))
        return {"observation": opening(tokenizer(), observation, info)}

    async def step(self, states: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Take the turn that the policy's text is."""
        end = tokenizer().eos_token
        action = states["action_text"].removesuffix(end)
        observation, reward, terminated, truncated, info = self.env.step(action)
        done = terminated or truncated
        success = float(info.get("success", False))
        # vLLM's text stops before the token that ends the reply, which is already among the tokens.
        feedback = "" if done else follow_up(tokenizer(), observation, info, reply=end)
        return {
            "rewards": torch.tensor(reward),
            "scores": torch.tensor(success),
            "environment_feedback": feedback,
            "done": done,
            "sampling_params": states.get("sampling_params"),
            "extra_logs": {"success": torch.tensor(success)},
        }


class AgentExecutor(MultiTurnAgentExecutor):
    """The name that OpenRLHF looks for."""

    def __init__(self) -> None:
        super().__init__(Episode)
