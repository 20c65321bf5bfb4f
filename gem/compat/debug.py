"""Playing an episode and printing every turn, as scripts written for GEM do."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

SHARE = 0.5
"""How likely an environment of a vector acts in a turn of `run_and_print_episode_with_selective_step`."""
TERMINAL_STATE = "<｜TERMINAL_STATE｜>"
"""The last observation of GEM's environments with one turn. Ours return the result of the answer instead; scripts that
compare observations with this constant can still import it."""


def run_and_print_episode(
    env: Any, policy: Callable[[Any], Any], ignore_done: bool = False, max_steps: float = 1e9
) -> None:
    """Play an episode with `policy`, which maps an observation to an action, and print every turn.

    Args:
        env: an environment or a vector of environments. Of a vector, every slot is printed, and it ends with the last.
        policy: maps an observation to an action, or the list of observations of a vector to a list of actions.
        ignore_done: whether to continue after the end, which only vectors with autoreset allow.
        max_steps: the maximum number of turns.
    """
    observation, _ = env.reset()
    turn, is_over = 0, False
    while turn < max_steps and (ignore_done or not is_over):
        turn += 1
        action = policy(observation)
        next_observation, reward, terminated, truncated, _ = env.step(action)
        _print_turn(turn, {"observation": observation, "action": action, "reward": reward}, terminated, truncated)
        observation = next_observation
        is_over = _is_over(terminated, truncated)


def run_and_print_episode_with_selective_step(
    env: Any, policy: Callable[[Any], Any], ignore_done: bool = False, max_steps: float = 1e9
) -> None:
    """Play a vector of environments, of which about half act in each turn, at least one, and print every turn.

    Args:
        env: a vector of environments.
        policy: maps the observations that came last to a list of actions, one for each environment.
        ignore_done: whether to continue after an environment has ended.
        max_steps: the maximum number of turns.
    """
    observation, _ = env.reset()
    turn, is_over = 0, False
    while turn < max_steps and (ignore_done or not is_over):
        turn += 1
        actions = dict(enumerate(policy(observation)))
        chosen = [slot for slot in actions if random.random() < SHARE] or [random.choice(list(actions))]
        acting = {slot: actions[slot] for slot in chosen}
        observation, reward, terminated, truncated, _ = env.step(acting)
        _print_turn(turn, {"action": acting, "next_observation": observation, "reward": reward}, terminated, truncated)
        is_over = _is_over(terminated, truncated)


run_and_print_episode_with_random_selection = run_and_print_episode_with_selective_step
"""The name that some of GEM's scripts import."""


async def run_and_print_episode_async(
    env: Any, policy: Callable[[Any], Any], ignore_done: bool = False, max_steps: float = 1e9
) -> None:
    """Play an environment whose `reset` and `step` are awaited, and print every turn; see `run_and_print_episode`."""
    observation, _ = await env.reset()
    turn, is_over = 0, False
    while turn < max_steps and (ignore_done or not is_over):
        turn += 1
        action = policy(observation)
        next_observation, reward, terminated, truncated, _ = await env.step(action)
        _print_turn(turn, {"observation": observation, "action": action, "reward": reward}, terminated, truncated)
        observation = next_observation
        is_over = _is_over(terminated, truncated)


def _print_turn(turn: int, values: Mapping[str, object], terminated: object, truncated: object) -> None:
    print(f"{'=' * 30}\nTurn {turn}")  # noqa: T201 (printing is the purpose of these functions)
    for name, value in values.items():
        print(f"{'-' * 10} {name}")  # noqa: T201
        _print_value(value)
    print(f"terminated: {terminated}, truncated: {truncated}")  # noqa: T201


def _print_value(value: object) -> None:
    if isinstance(value, list | tuple):
        for index, item in enumerate(value, start=1):
            print(f"{index}/{len(value)}: {item}")  # noqa: T201
    else:
        print(value)  # noqa: T201


def _is_over(terminated: bool | Sequence[bool], truncated: bool | Sequence[bool]) -> bool:
    """Whether the episode has ended; in a vector, whether that of every slot has."""
    if isinstance(terminated, Sequence) and isinstance(truncated, Sequence):
        return all(
            is_terminated or is_truncated for is_terminated, is_truncated in zip(terminated, truncated, strict=True)
        )
    return bool(terminated) or bool(truncated)
