"""Playing episodes, and comparing them in a form in which equal episodes are equal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from .subjects import Subject

SEEDS = range(5)
ENOUGH_SECONDS = 5
"""No more seeds are tried after so many seconds of processor time."""
MOST_TURNS = 2000
"""Random episodes without a known limit are played for so many turns."""
TURN_FIELDS = ("observation", "reward", "terminated", "truncated", "info")


def some_seeds() -> Iterator[int]:
    """The seeds that a promise is tried with: fewer in environments that take seconds to begin."""
    began = time.process_time()
    for seed in SEEDS:
        if seed and time.process_time() > began + ENOUGH_SECONDS:
            return
        yield seed


class Played(NamedTuple):
    """An episode."""

    results: list[Any]
    """What reset() and then each step() returned."""
    actions: list[Any]

    @property
    def is_over(self) -> bool:
        """Whether it came to its end."""
        return len(self.results) > 1 and ended(self.results[-1])


def ended(result: Any) -> bool:
    """Whether a turn ends the episode."""
    return bool(result[2] or result[3])


def begin(subject: Subject, env: Any, seed: int) -> Any:
    """Reset, and make the random actions that follow repeatable."""
    subject.seed_actions(env, seed)
    return env.reset(seed=seed)


def play(subject: Subject, env: Any, seed: int, turns: int = MOST_TURNS) -> Played:
    """Play an episode with random actions, for at most so many turns."""
    played = Played([begin(subject, env, seed)], [])
    for _ in range(min(subject.turn_limit(env) or MOST_TURNS, turns)):
        action = subject.random_action(env)
        played.actions.append(action)
        played.results.append(env.step(action))
        if ended(played.results[-1]):
            break
    return played


def replay(env: Any, seed: int, actions: Sequence[Any]) -> list[Any]:
    """Play an episode with these actions, to its end if that comes earlier; what reset() and each step() returned."""
    results = [env.reset(seed=seed)]
    for action in actions:
        results.append(env.step(action))
        if ended(results[-1]):
            break
    return results


def difference(first: Sequence[Any], second: Sequence[Any]) -> str:
    """Where two episodes differ, as the end of a sentence; empty if they do not."""
    for number, (one, other) in enumerate(zip_longest(first, second)):
        if one is None or other is None:
            return f"one has {len(first) - 1} turns and the other {len(second) - 1}"
        names = TURN_FIELDS if len(one) == 5 else ("observation", "info")
        for name, value, another in zip(names, one, other, strict=False):
            if canonical(value) != canonical(another):
                return f"turn {number} has the {name} {shorten(value)} and then {shorten(another)}"
    return ""


def canonical(value: Any) -> str:
    """A text that is the same for the same observations, rewards and infos, in every process."""
    return json.dumps(plain(value), sort_keys=True)


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON does not know is told by its type alone."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(canonical(item) for item in value)
    return type(value).__name__


def shorten(value: Any, length: int = 80) -> str:
    """The `repr` of a value in at most so many characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= length else f"{text[: length - 3]}..."
