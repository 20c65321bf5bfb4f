"""Watching an episode go by, as scripts written for GEM do: every turn on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

TERMINAL_STATE = "<｜TERMINAL_STATE｜>"
"""What GEM's one-turn environments give as their last observation. Ours say what came of the answer instead; the
constant is here for scripts that compare with it."""


def run_and_print_episode(
    env: Any, policy: Callable[[Any], Any], ignore_done: bool = False, max_steps: float = 1e9
) -> None:
    """Reset `env`, step it with what `policy` makes of each observation, and print every turn.

    `env` is an environment or a vector of some; of a vector, each slot is printed and the end is that of all slots.

    Args:
        ignore_done: go on after the end, which only vectors that begin anew by themselves allow.
        max_steps: stop after so many turns.
    """
    observation, _ = env.reset()
    turn, over = 0, False
    while turn < max_steps and (ignore_done or not over):
        turn += 1
        action = policy(observation)
        following, reward, terminated, truncated, _ = env.step(action)
        print(f"{'=' * 30}\nTurn {turn}")  # noqa: T201 (printing is what it is for)
        for name, value in (("observation", observation), ("action", action), ("reward", reward)):
            print(f"{'-' * 10} {name}")  # noqa: T201
            _print_each(value)
        print(f"terminated: {terminated}, truncated: {truncated}")  # noqa: T201
        observation = following
        over = _all_over(terminated, truncated)


def _print_each(value: object) -> None:
    if isinstance(value, list | tuple):
        for place, one in enumerate(value, start=1):
            print(f"{place}/{len(value)}: {one}")  # noqa: T201
    else:
        print(value)  # noqa: T201


def _all_over(terminated: bool | Sequence[bool], truncated: bool | Sequence[bool]) -> bool:
    """Whether the episode has ended, in a vector that of every slot."""
    if isinstance(terminated, Sequence) and isinstance(truncated, Sequence):
        return all(one or other for one, other in zip(terminated, truncated, strict=True))
    return bool(terminated) or bool(truncated)
