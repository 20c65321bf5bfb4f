"""A slow environment that only these tests know, and a host that knows it: `python -m tests.live.slow`."""

import os
import runpy
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gem.core import Step
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.registry import ENV_REGISTRY, register

ENV_ID = "test:Laboratory-v0"
SECONDS = 0.4
BREAKS, HANGS, KILLS, LATE = (f"\\boxed{{{number}}}" for number in (101, 102, 103, 104))
LATE_SECONDS = 3.0
CLOSED = "LABORATORY_CLOSED"
"""The variable with the file that gets a line whenever one is closed."""


class Laboratory(GuessTheNumber):
    """Takes a while for each turn; four numbers do worse."""

    stepped = 0
    """How many turns this process has taken."""

    def step(self, action: str) -> Step:
        type(self).stepped += 1
        time.sleep(SECONDS)
        if action == BREAKS:
            raise OSError("the beaker is broken")
        if action == HANGS:
            time.sleep(3600)
        if action == KILLS:
            os.kill(os.getpid(), signal.SIGKILL)
        if action == LATE:
            time.sleep(LATE_SECONDS)
        return super().step(action)

    def close(self) -> None:
        if CLOSED in os.environ:
            with open(os.environ[CLOSED], "a") as file:
                file.write("closed\n")


def add() -> None:
    """Register it."""
    register(ENV_ID, Laboratory, cost="slow", min_number=1, max_number=100, max_turns=12)


@contextmanager
def registered() -> Iterator[None]:
    """Registered while the block lasts, so that tests over all environments do not see it."""
    add()
    Laboratory.stepped = 0
    try:
        yield
    finally:
        del ENV_REGISTRY[ENV_ID]


if __name__ == "__main__":
    from tests.live import slow

    slow.add()
    runpy.run_module("workers.play", run_name="__main__")
