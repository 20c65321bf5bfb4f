"""Episodes for OpenRLHF: an agent for its multi-turn executor (`--train.agent_func_path`).

Checked: interface checked against openrlhf 0.11.2.

OpenRLHF makes one `Episode` for each prompt, tokenizes the text from `reset`, samples a reply, and passes its text to
`step`. It appends the `environment_feedback` of `step` as tokens that are not trained. Each row of the data set is a
seed:

    python -c "import json; [print(json.dumps({'input': str(s), 'label': ''})) for s in range(4096)]" > seeds.jsonl
    GEM_MODEL=Qwen/Qwen3-1.7B python -m openrlhf.cli.train_ppo_ray \
        --train.agent_func_path examples/openrlhf_agent.py --data.prompt_dataset seeds.jsonl --data.input_key input ...

Run this on a GPU node; the other options are those of the examples of OpenRLHF. For another environment, set
GEM_ENV_ID.
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

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")


@cache
def tokenizer() -> Any:
    """The tokenizer of the trained model. OpenRLHF passes text, and we need the chat template."""
    return AutoTokenizer.from_pretrained(os.environ["GEM_MODEL"])


class Episode(AgentInstanceBase):
    """One episode; OpenRLHF makes a new one for every prompt."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.env = gem.make(ENV_ID)

    async def reset(self, states: dict[str, Any], **kwargs: Any) -> dict[str, str]:
        """Begin the episode; the prompt of the row is its seed."""
        observation, info = self.env.reset(seed=int(states["observation"]))
        return {"observation": opening(tokenizer(), observation, info)}

    async def step(self, states: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Take a turn with the reply of the policy as the action."""
        end = tokenizer().eos_token
        action = states["action_text"].removesuffix(end)
        observation, reward, terminated, truncated, info = self.env.step(action)
        done = terminated or truncated
        success = float(info.get("success", False))
        # The text of vLLM does not contain the token that ends the reply, but its token ids do.
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
    """OpenRLHF loads the class with this name."""

    def __init__(self) -> None:
        super().__init__(Episode)
