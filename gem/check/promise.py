"""A promise of the contract, the finding about it, and functions that play episodes to check it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gem.core import Env, Info
from gem.factory import make

SEEDS = range(5)
"""The seeds of the episodes that each promise is checked with."""
MAX_RANDOM_TURNS = 10_000
"""An episode without a turn limit has to end by itself within this number of random turns."""

Status = Literal["ok", "wrong", "left out", "hint"]
Turn = tuple[str | None, str, float, bool, bool, Info]
"""Action, observation, reward, terminated, truncated and info; the action of the reset is None."""


class BrokenPromise(Exception):
    """The environment does not keep a promise; the message says what happened."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking one promise."""

    title: str
    status: Status
    detail: str = ""
    """What happened, why the promise was left out, or what the hint is; empty if the promise is kept."""
    advice: str = ""
    """What to do about a broken promise; empty if the promise is kept, or if `detail` has the advice."""
    key: str = ""
    """The short name of the promise, such as `repeats_a_seed`."""
    env_id: str = ""
    """What it is about."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The environment that is checked."""

    env_id: str
    modules: Sequence[str] = ()
    """The modules that have to be imported to register the id."""

    def make(self) -> Env:
        """Make a new environment."""
        return make(self.env_id)


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise of the contract."""

    title: str
    """The promise as a sentence."""
    attempt: Callable[[Subject], None]
    """The function that checks it; it raises `BrokenPromise`."""
    advice: str
    """What to do if the promise is broken."""
    basic: bool = False
    """Whether nothing else can be checked if it is broken."""
    exact: bool = False
    """Whether only environments with exact replay have to keep it."""

    @property
    def key(self) -> str:
        """The short name, such as `repeats_a_seed`; stored results use it."""
        return self.attempt.__name__


# ------------------------------------------------------------------ playing


def play(env: Env, seed: int) -> list[Turn]:
    """Play an episode with random actions and return its turns, the reset first.

    Raises:
        BrokenPromise: if it does not end in time.
    """
    observation, info = env.reset(seed=seed)
    return [(None, observation, 0.0, False, False, info), *play_on(env)]


def play_on(env: Env) -> Iterator[Turn]:
    """Continue an episode with random actions to its end and yield its turns.

    Raises:
        BrokenPromise: if it does not end in time.
    """
    limit = env.max_turns or MAX_RANDOM_TURNS
    for _ in range(limit):
        action = env.sample_random_action()
        observation, reward, terminated, truncated, info = env.step(action)
        yield action, observation, reward, terminated, truncated, info
        if terminated or truncated:
            return
    if env.max_turns:
        raise BrokenPromise(f"max_turns is {limit}, and after {limit} turns the episode still went on.")
    raise BrokenPromise(f"There is no turn limit, and {limit:,} random turns did not end the episode.")


def episodes_digest(env_id: str, seeds: Sequence[int] = SEEDS) -> str:
    """Play random episodes and return a digest of all their turns, which is the same in every process."""
    env = make(env_id)
    text = json.dumps([play(env, seed) for seed in seeds], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


TURN_FIELDS = ("action", "observation", "reward", "terminated", "truncated", "info")


def expect_same(first: Sequence[Turn], second: Sequence[Turn], place: str) -> None:
    """Compare the turns of two episodes.

    Args:
        place: the beginning of the message.

    Raises:
        BrokenPromise: with the first difference.
    """
    for number, (turn, other_turn) in enumerate(zip(first, second, strict=False)):
        for name, value, other_value in zip(TURN_FIELDS, turn, other_turn, strict=True):
            if value != other_value:
                raise BrokenPromise(
                    f"{place}: turn {number} has the {name} {shorten(value)} and then {shorten(other_value)}."
                )
    if len(first) != len(second):
        raise BrokenPromise(f"{place}: one play has {len(first) - 1} turns and the other {len(second) - 1}.")


def shorten(value: object) -> str:
    """Return the `repr` of a value in at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
