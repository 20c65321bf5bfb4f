"""Environments that only these tests know: slow, stuck, broken, and one that kills whoever plays it."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gem.core import Step
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.registry import ENV_REGISTRY, register

SLOW = "test:Slow-v0"
POISON = "test:Poison-v0"
BROKEN = "test:Broken-v0"
STUCK = "test:Stuck-v0"
POISONED_SEED = 20
BROKEN_SEED = 7


class Slow(GuessTheNumber):
    """Takes 2 ms for a turn."""

    def step(self, action: str) -> Step:
        time.sleep(0.002)
        return super().step(action)


class Poison(GuessTheNumber):
    """Kills its process at the first turn of one seed."""

    def step(self, action: str) -> Step:
        if self.seed == POISONED_SEED:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Broken(GuessTheNumber):
    """Raises at the first turn of one seed."""

    def step(self, action: str) -> Step:
        if self.seed == BROKEN_SEED:
            raise OSError("the wire is cut")
        return super().step(action)


class Stuck(GuessTheNumber):
    """Takes longer for a turn than any test lasts."""

    def step(self, action: str) -> Step:
        time.sleep(3600)
        return super().step(action)


def add() -> None:
    """Register them."""
    for env_id, factory in ((SLOW, Slow), (POISON, Poison), (BROKEN, Broken), (STUCK, Stuck)):
        register(env_id, factory, min_number=1, max_number=50, max_turns=7)


@contextmanager
def registered() -> Iterator[None]:
    """Registered while the block lasts, so that tests over all environments do not see them."""
    add()
    try:
        yield
    finally:
        for env_id in (SLOW, POISON, BROKEN, STUCK):
            del ENV_REGISTRY[env_id]
