"""How much a best opponent wins from an agent in a small game for two seats, by enumeration.

    found = best_response("duel:KuhnPoker-v0", chooser)
    found.exploitability        # in chips per deal; 0 for an equilibrium

The opponent knows the agent's probabilities, but of each episode only what its own seat reads. So it takes one action
in all situations that look the same to it: the one that earns most against what the agent may hold.

Source: exploitability as the mean over both seats of what a best response earns in a game whose value for both
together is 0 (Johanson et al., Accelerating best response calculation in large extensive games, IJCAI 2011).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gem import registry
from gem.agents.agent import Exchange, Request
from gem.analysis.exact.dynamics import relevant
from gem.analysis.exact.values import Chooser
from gem.core import Env, Info, State
from gem.envs.multiagent import MultiAgentEnv
from gem.errors import InvalidArgument
from gem.factory import make
from gem.seats import observation_for_seat, rewards


class GameFacts(NamedTuple):
    """What has to be known of a game."""

    deals: int
    """Of the reset, all equally likely."""
    unit: float
    """What a reward of 1 is in the unit in which the game is usually scored."""
    unit_name: str
    shows_all: bool
    """Whether both seats see the whole state."""


GAMES: Mapping[str, GameFacts] = {
    "KuhnPoker": GameFacts(6, 2.0, "chips per deal", shows_all=False),
    "TicTacToe": GameFacts(1, 1.0, "reward per game", shows_all=True),
}
SEEDS = 1000
"""Among so many seeds, every deal occurs."""
RAREST = 1e-9
"""Situations that the agent's choices reach with a lower probability are left out."""
UNREADABLE = ""
"""What stands for all responses that an agent does not list."""


@dataclass(frozen=True, slots=True)
class BestResponse:
    """What a best opponent earns."""

    earnings: tuple[float, float]
    """From seat 0 and from seat 1, per episode, in `unit_name`."""
    unit_name: str

    @property
    def exploitability(self) -> float:
        """The mean over both seats."""
        return sum(self.earnings) / 2


class _Node(NamedTuple):
    """A state of the game, with what each seat has read."""

    state: State
    to_act: int
    turn: int
    observation: str
    info: Info
    pasts: tuple[tuple[Exchange, ...], tuple[Exchange, ...]]


class _Branch(NamedTuple):
    """What follows from a choice: a reward for the opponent, and the next node unless the episode is over."""

    weight: float
    reward: float
    node: _Node | None


def best_response(env_id: str, chooser: Chooser) -> BestResponse:
    """Compute what a best opponent earns against an agent that has the other seat.

    Where the agent's listed probabilities add up to less than 1, the rest counts as a response without an action, which
    is the worst that can happen to it in these games. So the result is never too low.

    Raises:
        InvalidArgument: if the game is none of `GAMES`.
    """
    family = registry.spec(env_id).family
    if family not in GAMES:
        raise InvalidArgument(f"A best response to an agent in {env_id} is not computed; it is in {', '.join(GAMES)}.")
    facts = GAMES[family]
    env = make(env_id)
    tree = _Tree(env, chooser, facts)
    first, second = (facts.unit * tree.earnings(seat) for seat in (0, 1))
    env.close()
    return BestResponse((first, second), facts.unit_name)


class _Tree:
    """The game against an agent whose choices are known."""

    def __init__(self, env: Env, chooser: Chooser, facts: GameFacts) -> None:
        self.env, self.chooser, self.facts = env, chooser, facts
        self.roots = list(self._deals())
        self._known: dict[str, float] = {}
        """Where both seats see all: what the opponent earns from a state on."""

    def earnings(self, seat: int) -> float:
        """What a best opponent in `seat` earns per episode."""
        self._known.clear()
        self._ask_ahead(seat)
        branches = [_Branch(1 / len(self.roots), 0.0, node) for node in self.roots]
        return self._value(seat, [last for one in branches for last in self._until(seat, one)])

    def _value(self, seat: int, branches: Sequence[_Branch]) -> float:
        """What the opponent earns from branches at whose ends it is to act, or the episode is over."""
        total = math.fsum(one.weight * one.reward for one in branches)
        looks_same: dict[str, list[tuple[float, _Node]]] = {}
        for one in branches:
            if one.node is not None:
                looks_same.setdefault(self._seen(seat, one.node), []).append((one.weight, one.node))
        return total + math.fsum(self._best(seat, nodes) for nodes in looks_same.values())

    def _best(self, seat: int, nodes: Sequence[tuple[float, _Node]]) -> float:
        """What the best action earns in situations that look the same to the opponent."""
        if self.facts.shows_all:
            weight = math.fsum(weight for weight, _ in nodes)
            key = json.dumps(relevant(nodes[0][1].state), sort_keys=True)
            if key not in self._known:
                self._known[key] = self._best_of(seat, [(1.0, nodes[0][1])])
            return weight * self._known[key]
        return self._best_of(seat, nodes)

    def _best_of(self, seat: int, nodes: Sequence[tuple[float, _Node]]) -> float:
        values = []
        for action in self._actions(nodes[0][1]):
            after = (self._step(seat, node, action, weight) for weight, node in nodes)
            values.append(self._value(seat, [last for one in after for last in self._until(seat, one)]))
        return max(values)

    def _until(self, seat: int, branch: _Branch) -> Iterator[_Branch]:
        """Follow the agent's choices until the opponent is to act or the episode is over."""
        node = branch.node
        if node is None or node.to_act == seat:
            yield branch
            return
        for action, probability in self._choices(node):
            if branch.weight * probability >= RAREST:
                after = self._step(seat, node, action, branch.weight * probability)
                yield from self._until(seat, after._replace(reward=after.reward + branch.reward))

    def _choices(self, node: _Node) -> Iterator[tuple[str, float]]:
        """The agent's responses; those that it does not list count as unreadable."""
        [found] = self.chooser.distributions([self._request(node)])
        yield from found.items()
        rest = 1 - math.fsum(found.values())
        if rest > RAREST:
            yield UNREADABLE, rest

    def _ask_ahead(self, seat: int) -> None:
        """Ask for the agent's choices in all states of a turn at once, which is faster than one by one."""
        level = {self._key(node): node for node in self.roots}
        while level:
            own = [node for node in level.values() if node.to_act != seat]
            self.chooser.distributions(map(self._request, own))
            following: dict[str, _Node] = {}
            for node in level.values():
                actions = self._actions(node) if node.to_act == seat else [action for action, _ in self._choices(node)]
                for action in actions:
                    after = self._step(seat, node, action, 1.0).node
                    if after is not None:
                        following.setdefault(self._key(after), after)
            level = following

    def _step(self, seat: int, node: _Node, action: str, weight: float) -> _Branch:
        self.env.set_state(node.state)
        observation, reward, terminated, truncated, info = self.env.step(action)
        earned = rewards(reward, info)[seat]
        if terminated or truncated:
            return _Branch(weight, earned, None)
        reading, own_info = observation_for_seat(node.to_act, node.observation, node.info)
        exchange = Exchange(reading, own_info, action)
        pasts = [list(past) for past in node.pasts]
        pasts[node.to_act].append(exchange)
        first, second = map(tuple, pasts)
        state = self.env.get_state()
        return _Branch(
            weight, earned, _Node(state, self.env.to_act[0], node.turn + 1, observation, info, (first, second))
        )

    def _request(self, node: _Node) -> Request:
        """The situation as the agent is asked; it is read before the next call of any method."""
        self.env.set_state(node.state)
        reading, info = observation_for_seat(node.to_act, node.observation, node.info)
        return Request(self.env, reading, info, node.turn + 1, node.to_act, node.pasts[node.to_act])

    def _actions(self, node: _Node) -> list[str]:
        self.env.set_state(node.state)
        env = self.env.unwrapped
        assert isinstance(env, MultiAgentEnv)
        return env.random_actions()

    def _seen(self, seat: int, node: _Node) -> str:
        """All that a seat has read and done."""
        reading, info = observation_for_seat(seat, node.observation, node.info)
        past = [(exchange.observation, exchange.action) for exchange in node.pasts[seat]]
        return json.dumps([past, reading, info.get("suffix", "")])

    def _key(self, node: _Node) -> str:
        if self.facts.shows_all:
            return json.dumps(relevant(node.state), sort_keys=True)
        return json.dumps([self._seen(seat, node) for seat in (0, 1)])

    def _deals(self) -> Iterable[_Node]:
        """The first states, one of each deal."""
        found: dict[str, _Node] = {}
        for seed in range(SEEDS):
            observation, info = self.env.reset(seed=seed)
            state = self.env.get_state()
            found.setdefault(
                json.dumps(relevant(state), sort_keys=True),
                _Node(state, self.env.to_act[0], 0, observation, info, ((), ())),
            )
            if len(found) == self.facts.deals:
                return found.values()
        raise InvalidArgument(f"Among {SEEDS:,} seeds there are {len(found)} deals and not {self.facts.deals}.")
