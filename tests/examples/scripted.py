"""A policy for the examples without a model: the expert's actions as tokens, and the replies that a server gives."""

from collections.abc import Callable
from typing import Any

import gem
from gem.agents import Request, make_agent
from gem.wrappers.observation_wrapper import as_message

ENV_ID = "game:GuessTheNumber-v0-easy"
EXPERT = make_agent("expert")


def tokenizer() -> Any:
    """Made from random play, with a ChatML template."""
    from examples.tiny_model import make_tokenizer, random_play  # it imports PyTorch and transformers

    made, _ = make_tokenizer([random_play(gem.make(ENV_ID), seed) for seed in range(40)])
    return made


def expert_plays(seed: int, env_id: str = ENV_ID) -> tuple[list[str], list[float], list[str]]:
    """What the expert does for this seed: its actions, their rewards, and every message it reads."""
    env = gem.make(env_id)
    observation, info = env.reset(seed=seed)
    messages, actions, rewards = [as_message(observation, info)], [], []
    over = False
    while not over:
        [decision] = EXPERT.act([Request(env, observation, info, len(actions) + 1)])
        observation, reward, terminated, truncated, info = env.step(decision.action)
        actions.append(decision.action)
        rewards.append(reward)
        messages.append(as_message(observation, info))
        over = terminated or truncated
    return actions, rewards, messages


def replies(seed: int, tokens: Any) -> Callable[[], list[int]]:
    """A function that gives the expert's next reply as tokens, with the token that ends it."""
    actions = iter(expert_plays(seed)[0])
    return lambda: list(tokens.encode(next(actions) + tokens.eos_token, add_special_tokens=False))


def several_turns() -> int:
    """A seed on which the expert needs more than one turn."""
    return next(seed for seed in range(100) if len(expert_plays(seed)[0]) > 2)
