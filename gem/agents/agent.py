"""The contract between an agent and whoever asks it: a batch of requests in, a decision for each out."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from gem.core import Env
from gem.errors import InvalidArgument


class Exchange(NamedTuple):
    """An earlier turn of the seat: what it read, and what it did then."""

    observation: str
    info: Mapping[str, Any]
    action: str


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
    past: Sequence[Exchange] = ()
    """The earlier turns of this seat, the first one first; empty where whoever asks does not keep them."""
    episode: int = -1
    """The episode's place in its batch, where there is a batch."""
    repeat: int = 0
    """Which try at the episode's seed this is, from 0. An agent that draws by chance draws anew in each."""


class Decision(NamedTuple):
    """What an agent does, and why."""

    action: str
    note: str = ""
    """The reason in words, shown while watching and as the hint."""
    extra: Mapping[str, Any] | None = None
    """What else is known of it, as plain JSON: the tokens and seconds it took (see `gem.agents.endpoint`)."""

    @property
    def kept(self) -> dict[str, Any]:
        """What a record keeps of it beside the action: the note and all of `extra`."""
        kept = {"note": self.note} if self.note else {}
        return {**kept, **self.extra} if self.extra else kept


class Agent(Protocol):
    """Acts on a batch of requests.

    The agents of this package decide from public information only, and the same environment, seed, turn and
    history give the same decision: an episode can go on in another process.
    """

    name: str

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """One decision for each request, in the same order."""
        ...


@runtime_checkable
class AsyncAgent(Protocol):
    """Decides on one request at a time and waits for something meanwhile: many can be asked at once."""

    name: str

    async def decide(self, request: Request) -> Decision:
        """What to do.

        Raises:
            AgentFailure: if it cannot decide; the episode is not counted and the others go on.
            AgentStopped: if it is of no use to ask again; all that is played with it ends.
        """
        ...

    async def close(self) -> None:
        """Let go of connections that belong to this event loop; it may be asked again in another one."""
        ...


Player: TypeAlias = Agent | AsyncAgent
"""Whoever can be asked for a decision."""


def decisions_of(agent: Agent, requests: Sequence[Request]) -> list[Decision]:
    """What `agent.act` says to the requests.

    Raises:
        InvalidArgument: if that is not a decision for each.
    """
    decisions = agent.act(requests)
    if set(map(type, decisions)) - {Decision}:
        for decision in decisions:
            check_decision(agent, "act", decision)
    if len(decisions) != len(requests):
        raise InvalidArgument(
            f"act of {type(agent).__name__} returned {len(decisions)} decisions for {len(requests)} requests: one for "
            "each belongs there, in the same order."
        )
    return decisions


def check_decision(agent: Player, method: str, returned: object) -> Decision:
    """What a method of an agent returned, if it is a decision.

    Raises:
        InvalidArgument: if it is something else.
    """
    if not isinstance(returned, Decision):
        raise InvalidArgument(
            f"{method} of {type(agent).__name__} returned {reprlib.repr(returned)} where a decision belongs: "
            'gem.agents.Decision("the action").'
        )
    return returned
