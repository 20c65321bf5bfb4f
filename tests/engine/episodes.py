"""Seeded episodes for the engine's tests: played, digested and written out for people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import gem
from gem.agents import Request, make_agent
from gem.replay import MACHINE_DEPENDENT_KEYS

Record = list[Any]
"""[action, observation, reward, terminated, truncated, info]; the reset has no action and no reward."""


def random_turns(env: gem.Env) -> Iterator[Record]:
    """Play from the present to the end with random actions."""
    over = False
    while not over:
        action = env.sample_random_action()
        observation, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        yield [action, observation, reward, terminated, truncated, info]


def random_episode(env: gem.Env, seed: int) -> list[Record]:
    """A whole random episode, the reset first."""
    observation, info = env.reset(seed=seed)
    return [[None, observation, 0.0, False, False, info], *random_turns(env)]


def digest(env_id: str, seeds: range, **arguments: Any) -> str:
    """A fingerprint of every turn of some random episodes, apart from what differs from machine to machine."""
    env = gem.make(env_id, **arguments)
    episodes = [random_episode(env, seed) for seed in seeds]
    for *_, info in (turn for episode in episodes for turn in episode):
        for name in MACHINE_DEPENDENT_KEYS:
            info.pop(name, None)
    text = json.dumps(episodes, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def transcript(env_id: str, agent: str, seed: int) -> str:
    """An episode as text that people can read."""
    player = make_agent(agent)
    env = gem.make(env_id)
    observation, info = env.reset(seed=seed)
    lines = [f"{env_id}, seed {seed}, played by {agent}", "", observation, info["suffix"]]
    turn, over = 0, False
    while not over:
        turn += 1
        decision = player.act([Request(env, observation, info, turn)])[0]
        observation, reward, terminated, truncated, info = env.step(decision.action)
        over = terminated or truncated
        lines += [
            "",
            f"--- turn {turn}: {decision.action}",
            decision.note,
            f"    {observation}",
            f"    reward {reward:g}",
        ]
        lines.append(info["suffix"])
    lines += ["", f"terminated {terminated}, truncated {truncated}, solved {info['success']}", ""]
    return "\n".join(lines)
