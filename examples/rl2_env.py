"""Episodes for RL2: a module for its rollout (`rollout.env_path`).

Checked: interface checked against rl-square 0.0.2.

RL2 calls `reset` for each rollout without a prompt, and `step` with the text so far and the reply. It passes the
`extra_info` that they return to the next call. So this module keeps nothing between calls: the state of the environment
(`get_state`, plain JSON) is passed along, and any process can take the next turn.

    GEM_MODEL=Qwen/Qwen3-1.7B torchrun --nproc_per_node=8 -m RL2.trainer.ppo \
        train_data.path=null train_data.responses_per_prompt=8 actor.model_name=Qwen/Qwen3-1.7B \
        rollout.env_path=examples/rl2_env.py rollout.max_turns=10 ...

Run this on a GPU node. For another environment, set GEM_ENV_ID.
"""

from __future__ import annotations

import os
import random
from functools import cache
from typing import Any

from transformers import AutoTokenizer

import gem
from gem.adapters.tokens import follow_up, opening

ENV_ID = os.environ.get("GEM_ENV_ID", "game:GuessTheNumber-v0-easy")
SEEDS = random.SystemRandom()


@cache
def tokenizer() -> Any:
    """The tokenizer of the trained model. RL2 passes text, and we need the chat template."""
    return AutoTokenizer.from_pretrained(os.environ["GEM_MODEL"])


async def reset(extra_info: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Begin an episode with the seed of the row, or with a random seed."""
    env = gem.make(ENV_ID)
    observation, info = env.reset(seed=extra_info.get("seed", SEEDS.randrange(2**31)))
    return opening(tokenizer(), observation, info), {"state": env.get_state()}


async def step(state: str, action: str, extra_info: dict[str, Any]) -> dict[str, Any]:
    """Take a turn. `next_state` begins with the text so far, so RL2 continues the same sequence."""
    env = gem.make(ENV_ID)
    env.set_state(extra_info["state"])
    end = tokenizer().eos_token
    observation, reward, terminated, truncated, info = env.step(action.removesuffix(end))
    # The tokens of RL2 contain the token that ends a reply, whether the text of SGLang contains it or not.
    return {
        "next_state": state + action + follow_up(tokenizer(), observation, info, reply=end),
        "reward": reward,
        "score": float(info.get("success", False)),
        "done": terminated or truncated,
        "extra_info": {"state": env.get_state()},
    }
