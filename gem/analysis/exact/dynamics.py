"""What can happen after an action in a small game, with its probabilities.

The environment itself is the model: it is put into a state, takes the action, and its next state is read. Chance is
enumerated where it is an opponent that plays at random; no other chance after the reset is known here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gem import registry
from gem.agents.agent import Decision, Exchange, Request
from gem.core import Env, State
from gem.envs.multiagent import MultiAgentEnv
from gem.errors import InvalidArgument
from gem.factory import make_wrapped
from gem.rollout import Start
from gem.wrappers.opponent import Opponent

FAMILIES = frozenset({"GuessTheNumber", "TowerofHanoi", "FifteenPuzzle", "TicTacToe", "KuhnPoker"})
"""Games in which nothing is drawn after the reset, except by a random opponent."""
CERTAIN_EXPERTS = frozenset({"TicTacToe"})
"""Games whose expert leaves nothing to chance."""
IRRELEVANT = frozenset({"seed", "rng", "unread", "returns", "last"})
"""Entries of states that nothing later depends on, if nothing is drawn any more and the agent does not read them."""

Key = tuple[str, ...]
"""What tells situations apart: the state without what is irrelevant, and all that was read and written before if the
agent reads that."""


class Transition(NamedTuple):
    """One thing that can happen after an action."""

    probability: float
    reward: float
    key: Key | None
    """The situation in which the agent acts next; None at the end of the episode."""


class Dynamics:
    """The situations that a game can be in, as far as they were visited, and what follows from actions in them.

    Args:
        reads_past: whether the agent reads the earlier turns. If not, situations with the same board are one.

    Raises:
        InvalidArgument: if the game is none of `FAMILIES`, or its opponent is neither random nor a known expert.
    """

    def __init__(
        self, env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]], *, reads_past: bool
    ) -> None:
        family = registry.spec(env_id).family
        if family not in FAMILIES:
            raise InvalidArgument(
                f"What can happen in {env_id} is not enumerated; it is in {', '.join(sorted(FAMILIES))}."
            )
        self.env = make_wrapped(env_id, env_kwargs, wrappers)
        self.situations: dict[Key, Start] = {}
        self._reads_past = reads_past
        self._transitions: dict[tuple[Key, str], tuple[Transition, ...]] = {}
        self._replies = _Replies()
        self._enumerate_opponent(family)

    def add(self, start: Start) -> Key:
        """The key of a situation in which the agent acts."""
        key: Key = (json.dumps(relevant(start.state), sort_keys=True),)
        if self._reads_past:
            read = (text for exchange in start.past for text in (exchange.observation, exchange.action))
            key = (*key, *read, start.observation)
        self.situations.setdefault(key, start)
        return key

    def request(self, key: Key) -> Request:
        """The situation as an agent is asked; the request is read before the next call of any method."""
        start = self.situations[key]
        self.env.set_state(start.state)
        seat = self.env.to_act[0]
        return Request(self.env, start.observation, dict(start.info), start.turn + 1, seat, start.past)

    def transitions(self, key: Key, action: str) -> tuple[Transition, ...]:
        """What can happen after an action."""
        found = self._transitions.get((key, action))
        if found is None:
            found = self._transitions[key, action] = tuple(self._enumerate(key, action))
        return found

    def known(self, key: Key, action: str) -> tuple[Transition, ...] | None:
        """The same, if it was asked for before."""
        return self._transitions.get((key, action))

    def _enumerate(self, key: Key, action: str) -> list[Transition]:
        start, found = self.situations[key], []
        pending: list[tuple[int, ...]] = [()]
        while pending:
            script = pending.pop()
            self._replies.begin(script)
            self.env.set_state(start.state)
            observation, reward, terminated, truncated, info = self.env.step(action)
            counts = self._replies.counts
            taken = (*script, *[0] * (len(counts) - len(script)))
            for place in range(len(script), len(counts)):
                pending += [(*taken[:place], other) for other in range(1, counts[place])]
            following = None
            if not (terminated or truncated):
                past = (*start.past, Exchange(start.observation, start.info, action))
                following = self.add(Start(self.env.get_state(), observation, info, start.turn + 1, past))
            found.append(Transition(1 / math.prod(counts), float(reward), following))
        return found

    def _enumerate_opponent(self, family: str) -> None:
        """Let `_replies` decide for a random opponent.

        Raises:
            InvalidArgument: if the opponent's choices are not known.
        """
        wrapper = _find_opponent(self.env)
        if wrapper is None:
            if self.env.seats > 1:
                raise InvalidArgument('What can happen depends on the other seat: fill it with opponent="random".')
            return
        if wrapper.opponent == "random":
            wrapper.replace_agent(self._replies)
        elif wrapper.opponent != "expert" or family not in CERTAIN_EXPERTS:
            raise InvalidArgument(f"What the opponent {wrapper.opponent!r} chooses in {family} is not known.")


class _Replies:
    """A random opponent that takes the choices of a script, and the first possible action when the script is over."""

    name = "replies"

    def __init__(self) -> None:
        self.counts: list[int] = []
        """Of each decision, the number of actions that were equally likely."""
        self._script: tuple[int, ...] = ()

    def begin(self, script: tuple[int, ...]) -> None:
        """Begin with the first choice of a script."""
        self.counts, self._script = [], script

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`."""
        return [Decision(self._choose(request)) for request in requests]

    def _choose(self, request: Request) -> str:
        env = request.env.unwrapped
        assert isinstance(env, MultiAgentEnv)
        actions = env.random_actions()
        place = len(self.counts)
        self.counts.append(len(actions))
        return actions[self._script[place] if place < len(self._script) else 0]


def _find_opponent(env: Env) -> Opponent | None:
    while env is not env.unwrapped:
        if isinstance(env, Opponent):
            return env
        env = env.env  # type: ignore[attr-defined]  # every wrapper has it
    return None


def relevant(state: State) -> State:
    """A state without the entries of `IRRELEVANT`, at any depth."""
    return {
        name: relevant(value) if isinstance(value, dict) else value
        for name, value in state.items()
        if name not in IRRELEVANT
    }
