"""Episodes for RL2: the module that its rollout calls (`rollout.env_path`).

Checked: interface checked against rl-square 0.0.2.

RL2 calls `reset` for each rollout without a prompt, and `step` with the text so far and the reply; what they return as
`extra_info` comes back with the next call. So nothing is kept here between calls: the environment travels as its state
(`get_state`, plain JSON), and any process can take the next turn.

    GEM_MODEL=Qwen/Qwen3-1.7B torchrun --nproc_per_node=8 -m RL2.trainer.ppo \
        train_data.path=null train_data.responses_per_prompt=8 actor.model_name=Qwen/Qwen3-1.7B \
        rollout.env_path=examples/rl2_env.py rollout.max_turns=10 ...

on a GPU node. For another environment change ENV_ID.
"""

from __future__ import annotations

import os
import random
from functools import cache
from typing import Any

from transformers import AutoTokenizer

import gem
from gem.adapters.tokens import follow_up, opening

ENV_ID = "game:GuessTheNumber-v0-easy"
SEEDS = random.SystemRandom()


@cache
def tokenizer() -> Any:
    """Of the model that is trained: RL2 gives texts, and the chat template is the tokenizer's."""
    return AutoTokenizer.from_pretrained(os.environ["GEM_MODEL"])


async def reset(extra_info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Begin an episode: of the row's seed, or of any."""
    env = gem.make(ENV_ID)
    observation, info = env.reset(seed=extra_info.get("seed", SEEDS.randrange(2**31)))
    return opening(tokenizer(), observation, info), {"state": env.get_state()}


async def step(state: str, action: str, extra_info: dict[str, Any]) -> dict[str, Any]:
    """Take a turn; `next_state` begins with the text so far, so that RL2 goes on with the same sequence."""
    env = gem.make(ENV_ID)
    env.set_state(extra_info["state"])
    end = tokenizer().eos_token
    observation, reward, terminated, truncated, info = env.step(action.removesuffix(end))
    # The token that ends a reply is already among RL2's tokens, whether SGLang's text shows it or not.
    return {
        "next_state": state + action + follow_up(tokenizer(), observation, info, reply=end),
        "reward": reward,
        "score": float(info.get("success", False)),
        "done": terminated or truncated,
        "extra_info": {"state": env.get_state()},
    }
