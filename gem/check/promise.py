"""What a promise is, what comes of trying it, and how episodes are played to try it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gem.core import Env, Info
from gem.factory import make

SEEDS = range(5)
"""Episodes that each promise is tried on."""
ENDLESS = 10_000
"""An episode without a turn limit has to end by itself within so many random turns."""

Status = Literal["ok", "wrong", "left out"]
Turn = tuple[str | None, str, float, bool, bool, Info]
"""Action, observation, reward, terminated, truncated, info; the reset has no action."""


class Broken(Exception):
    """A promise that an environment does not keep; the message says what happened."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one promise."""

    title: str
    status: Status
    what: str = ""
    """What happened, or why the promise was left out; empty if it is kept."""
    advice: str = ""
    """What to do about it; empty if it is kept, or if `what` says it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The environment to be checked."""

    env_id: str
    modules: Sequence[str] = ()
    """What has to be imported so that the id is registered."""

    def make(self) -> Env:
        """A new environment."""
        return make(self.env_id)


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise, how it is tried, and what helps when it is broken."""

    title: str
    attempt: Callable[[Subject], None]
    advice: str
    basic: bool = False
    """If it is broken, nothing else can be tried."""
    exact: bool = False
    """Only environments with exact replay make it."""

    @property
    def key(self) -> str:
        """Its short name, such as `repeats_a_seed`."""
        return self.attempt.__name__


# ------------------------------------------------------------------ playing


def play(env: Env, seed: int) -> list[Turn]:
    """A whole episode with random actions, the reset first.

    Raises:
        Broken: if it does not end when it should.
    """
    observation, info = env.reset(seed=seed)
    return [(None, observation, 0.0, False, False, info), *play_on(env)]


def play_on(env: Env) -> Iterator[Turn]:
    """From the present to the end with random actions.

    Raises:
        Broken: if the end does not come when it should.
    """
    limit = env.max_turns or ENDLESS
    for _ in range(limit):
        action = env.sample_random_action()
        observation, reward, terminated, truncated, info = env.step(action)
        yield action, observation, reward, terminated, truncated, info
        if terminated or truncated:
            return
    if env.max_turns:
        raise Broken(f"max_turns is {limit}, and after {limit} turns the episode still went on.")
    raise Broken(f"There is no turn limit, and {limit:,} random turns did not end the episode.")


def digest(env_id: str, seeds: Sequence[int] = SEEDS) -> str:
    """A fingerprint of every turn of some random episodes, the same in every process."""
    env = make(env_id)
    text = json.dumps([play(env, seed) for seed in seeds], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


FIELDS = ("action", "observation", "reward", "terminated", "truncated", "info")


def expect_same(first: Sequence[Turn], second: Sequence[Turn], where: str) -> None:
    """Raise `Broken` with the first place where two plays part."""
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        for name, value, different in zip(FIELDS, one, other, strict=True):
            if value != different:
                raise Broken(f"{where}: turn {number} has the {name} {short(value)} and then {short(different)}.")
    if len(first) != len(second):
        raise Broken(f"{where}: one play has {len(first) - 1} turns and the other {len(second) - 1}.")


def short(value: object) -> str:
    """A value in at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
