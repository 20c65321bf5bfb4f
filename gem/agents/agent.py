"""The contract between an agent and whoever asks it: a batch of requests in, a decision for each out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gem.core import Env


@dataclass(frozen=True, slots=True)
class Request:
    """One turn that waits for a decision."""

    env: Env
    """To ask for a view or a random action; an agent never reads what its seat may not know, and never steps it."""
    observation: str
    info: dict[str, Any]
    turn: int
    """The number of the turn to take, 1 for the first."""
    seat: int = 0
    episode: int = -1
    """The episode's place in its batch, where there is a batch."""


class Decision(NamedTuple):
    """What an agent does, and why."""

    action: str
    note: str = ""
    """The reason in words, shown while watching and as the hint."""


class Agent(Protocol):
    """Acts on a batch of requests.

    The agents of this package decide from public information only, and the same environment, seed, turn and
    history give the same decision: an episode can go on in another process.
    """

    name: str

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """One decision for each request, in the same order."""
        ...
