"""Playing an episode and printing every turn, as scripts written for GEM do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
        print(f"{'=' * 30}\nTurn {turn}")  # noqa: T201 (printing is the purpose of this function)
        for name, value in (("observation", observation), ("action", action), ("reward", reward)):
            print(f"{'-' * 10} {name}")  # noqa: T201
            _print_value(value)
        print(f"terminated: {terminated}, truncated: {truncated}")  # noqa: T201
        observation = next_observation
        is_over = _is_over(terminated, truncated)


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
