"""Environments that give the catalog trouble."""

import threading

from gem.core import Env
from gem.envs.games.guess_the_number import GuessTheNumber

go_on = threading.Event()


def slow() -> Env:
    """Takes as long to make as the test wants."""
    assert go_on.wait(60)
    return GuessTheNumber()


def broken() -> Env:
    """Cannot be made."""
    raise OSError("the wire is cut")
