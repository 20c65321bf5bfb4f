"""The interface of agents: an agent takes a batch of requests and returns a decision for each."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from gem.core import Env
from gem.errors import InvalidArgument


class Exchange(NamedTuple):
    """An earlier turn of a seat: what it read, and the action that it took."""

    observation: str
    info: Mapping[str, Any]
    action: str


class Request(NamedTuple):
    """A turn that waits for a decision."""

    env: Env
    """The environment, for its views and random actions; an agent never steps it, nor reads what its seat may not."""
    observation: str
    info: dict[str, Any]
    turn: int
    """The number of the turn to take, 1 for the first."""
    seat: int = 0
    past: Sequence[Exchange] = ()
    """The earlier turns of this seat, the oldest first; empty if the caller does not keep them."""
    episode: int = -1
    """The place of the episode in its batch; -1 if there is no batch."""
    repeat: int = 0
    """The number of this try at the seed of the episode, from 0. Agents that sample at random do so anew in each."""


class Decision(NamedTuple):
    """The action that an agent chose, and why."""

    action: str
    note: str = ""
    """The reason in words, which is shown to people who watch or ask for a hint."""
    extra: Mapping[str, Any] | None = None
    """Further facts as plain JSON, such as the tokens and seconds that it took (see `gem.agents.endpoint`)."""

    @property
    def recorded_extra(self) -> dict[str, Any]:
        """The facts that a record keeps besides the action: the note and all of `extra`."""
        note = {"note": self.note} if self.note else {}
        return {**note, **self.extra} if self.extra else note


class Agent(Protocol):
    """An agent that computes its decisions, for a batch of requests at a time.

    The agents of this package decide from public information only. With them, the same environment, seed, turn and
    history give the same decision, so an episode can continue in another process.
    """

    name: str

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """Return one decision for each request, in the same order."""
        ...


@runtime_checkable
class AsyncAgent(Protocol):
    """An agent that waits for something, such as a server; many of its decisions can be pending at the same time."""

    name: str

    async def decide(self, request: Request) -> Decision:
        """Decide on one turn.

        Raises:
            AgentFailure: if it cannot decide; the episode is not counted, and the others continue.
            AgentStopped: if it cannot be used any longer; everything that is played with it ends.
        """
        ...

    async def close(self) -> None:
        """Close the connections of the current event loop; the agent can be used again in another loop."""
        ...


AnyAgent: TypeAlias = Agent | AsyncAgent
"""An agent of either kind."""


def check_agent(agent: object) -> None:
    """Check that an object has the methods of an agent of either kind.

    Raises:
        InvalidArgument: if it has not; the message says what is missing.
    """
    if isinstance(agent, type):
        raise InvalidArgument(f"{agent.__name__} is a class; an agent is an object of it: {agent.__name__}().")
    if isinstance(agent, AsyncAgent):
        return
    if not hasattr(agent, "act"):
        missing = "act(requests), see gem.agents.Agent"
        if hasattr(agent, "decide"):
            names = [name for name in ("name", "close") if not hasattr(agent, name)]
            missing = f"{' and '.join(names)} besides decide, see gem.agents.AsyncAgent"
        raise InvalidArgument(f"{reprlib.repr(agent)} is no agent: it needs {missing}.")
    if inspect.iscoroutinefunction(agent.act):
        raise InvalidArgument(
            f"act of {type(agent).__name__} is a coroutine. An agent that waits defines async decide(request) for one "
            "turn, and async close(): see gem.agents.AsyncAgent."
        )


def decisions_of(agent: Agent, requests: Sequence[Request]) -> list[Decision]:
    """Call `agent.act` and check what it returns.

    Raises:
        InvalidArgument: if it is not one decision for each request.
    """
    decisions = agent.act(requests)
    if not isinstance(decisions, Sequence):
        raise InvalidArgument(
            f"act of {type(agent).__name__} returned {reprlib.repr(decisions)} where a list with one decision for each "
            "request belongs."
        )
    for decision in decisions:
        if type(decision) is not Decision or type(decision.action) is not str:
            check_decision(agent, "act", decision)
    if len(decisions) != len(requests):
        raise InvalidArgument(
            f"act of {type(agent).__name__} returned {len(decisions)} decisions for {len(requests)} requests: it has "
            "to return one for each, in the same order."
        )
    return decisions


def check_decision(agent: AnyAgent, method: str, returned: object) -> Decision:
    """Return what a method of an agent returned, if it is a decision.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(returned, Decision):
        raise InvalidArgument(
            f"{method} of {type(agent).__name__} returned {reprlib.repr(returned)} where a decision belongs: "
            'gem.agents.Decision("the action").'
        )
    if not isinstance(returned.action, str):
        raise InvalidArgument(
            f"{method} of {type(agent).__name__} returned a decision whose action is {reprlib.repr(returned.action)}, "
            'not a text. An agent that has no answer returns Decision("").'
        )
    return returned
