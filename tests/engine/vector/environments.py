"""Environments that make it hard for a vector."""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import gem
from gem.core import Info, State, Step
from gem.envs.games.guess_the_number import GuessTheNumber


class Sleepy(GuessTheNumber):
    """Takes its time."""

    def step(self, action: str) -> Step:
        time.sleep(0.2)
        return super().step(action)


class Alone(Sleepy):
    """Breaks when a turn begins before the one before it has ended."""

    busy = False

    def step(self, action: str) -> Step:
        if self.busy:
            raise RuntimeError("two turns at once")
        self.busy = True
        try:
            return super().step(action)
        finally:
            self.busy = False


class Forgetful(GuessTheNumber):
    """Takes its time to say what its state is."""

    def get_state(self) -> State:
        time.sleep(0.3)
        return super().get_state()


class Held(GuessTheNumber):
    """Counts those of its kind that are not closed."""

    open = 0

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        Held.open += 1

    def close(self) -> None:
        Held.open -= 1


class Doomed(GuessTheNumber):
    """Ends its process on "die", and from then on as soon as it is made, while a file is there."""

    def __init__(self, fuse: Path) -> None:
        super().__init__()
        self.fuse = fuse
        self.burn()

    def burn(self) -> None:
        if self.fuse.exists():
            os._exit(1)

    def step(self, action: str) -> Step:
        if action == "die":
            self.fuse.touch()
        self.burn()
        return super().step(action)


class Late(GuessTheNumber):
    """Cannot begin its second episode, once."""

    begun = 0

    def _start(self) -> tuple[str, Info]:
        Late.begun += 1
        if Late.begun == 2:
            raise RuntimeError("not now")
        return super()._start()


class Stubborn(gem.Env):
    """Has no random actions."""

    def _start(self) -> tuple[str, Info]:
        return "Say something.", {}

    def step(self, action: str) -> Step:
        return "Thank you.", 0.0, False, False, {}


class Broken(Stubborn):
    """Cannot begin."""

    def _start(self) -> tuple[str, Info]:
        raise RuntimeError("broken")


class Deadly(GuessTheNumber):
    """Ends its process on "die"."""

    def step(self, action: str) -> Step:
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class Moody(Deadly):
    """Raises on "break", too."""

    def step(self, action: str) -> Step:
        if action == "break":
            raise RuntimeError("broken by the test")
        return super().step(action)


class Unsendable(GuessTheNumber):
    """Answers with what cannot go from process to process."""

    def step(self, action: str) -> Step:
        *step, info = super().step(action)
        return *step, {**info, "lock": threading.Lock()}
