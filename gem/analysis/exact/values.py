"""Q, V and advantages of an agent by dynamic programming, where everything that can happen is enumerated.

    values = ExactValues(Dynamics("game:TowerofHanoi-v0-easy", {}, (), reads_past=False), chooser, discount=1.0)
    values.prepare([(start, action)])
    values.advantage(start, action).mean

The agent is known by the probabilities of its responses. Situations that are entered less often than `floor`, and
responses that its chooser does not list, are not followed: their return may be anything within the bounds of the game,
and the result says how much that matters.

Source: the Bellman equations (Sutton and Barto, Reinforcement Learning, 2018, sections 3.5 and 4.1), solved backwards
from the ends of episodes, which have a turn limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from gem.agents.agent import Request
from gem.analysis.exact.dynamics import Dynamics, Key, Transition
from gem.errors import InvalidArgument
from gem.rollout import Start

Distribution = Mapping[str, float]
"""Responses with their probabilities, which sum to at most 1; the rest is not known one by one."""
BOUNDS = (-1.0, 1.0)
"""The lowest and the highest return of the games that can be enumerated."""
BATCH = 512
"""Situations of which the agent is asked at once."""


class Chooser(Protocol):
    """An agent that says how probable its responses are."""

    def distributions(self, requests: Iterable[Request]) -> Sequence[Distribution]:
        """The responses to each request with their probabilities.

        Each request is read before the next one is taken, because all have the same environment.
        """
        ...


class TooManySituations(InvalidArgument):
    """There are more situations than may be enumerated."""


class Range(NamedTuple):
    """Where a value is at least and at most, and what it is if all that was not followed is like the rest."""

    low: float
    mean: float
    high: float


NOTHING = Range(0.0, 0.0, 0.0)
"""What comes after the end of an episode."""


class ExactAdvantage(NamedTuple):
    """The true advantage of a turn."""

    mean: float
    """The advantage, if branches that were not followed are worth what the others are."""
    error: float
    """How far the advantage may be from it at most, whatever they are worth."""
    after: float
    """The value of the action that was taken: Q."""
    before: float
    """The value of the situation: V."""


class ExactValues:
    """Values of situations and actions under one agent.

    Args:
        floor: situations that are entered with a lower probability, from all that were asked for, are not followed.
        limit: the most situations that are enumerated.
    """

    def __init__(
        self, dynamics: Dynamics, chooser: Chooser, *, discount: float, floor: float = 1e-5, limit: int = 100_000
    ) -> None:
        self.dynamics, self.chooser = dynamics, chooser
        self.discount, self.floor, self.limit = discount, floor, limit
        self._choices: dict[Key, Distribution] = {}
        self._reach: dict[Key, float] = {}
        """The probability with which a situation was entered when it was last expanded."""
        self._values: dict[Key, Range] = {}

    def prepare(self, turns: Sequence[tuple[Start, str]]) -> None:
        """Enumerate what can happen from some situations, after the action that was taken and after all others.

        Raises:
            TooManySituations: if it is more than `limit`.
        """
        frontier: dict[Key, float] = {}
        for start, action in turns:
            key = self.dynamics.add(start)
            frontier[key] = 1.0
            frontier |= {one.key: 1.0 for one in self.dynamics.transitions(key, action) if one.key is not None}
        while frontier:
            frontier = self._expand(frontier)
        self._values.clear()

    def advantage(self, start: Start, action: str) -> ExactAdvantage:
        """The true advantage of an action; `prepare` was called with it."""
        key = self.dynamics.add(start)
        after, before = self._after(self.dynamics.transitions(key, action)), self._value(key)
        mean = after.mean - before.mean
        error = max(after.high - before.low - mean, mean - (after.low - before.high))
        return ExactAdvantage(mean, error, after.mean, before.mean)

    def _expand(self, frontier: Mapping[Key, float]) -> dict[Key, float]:
        """Follow the choices in some situations, each entered with a probability; the situations that come next."""
        unknown = [key for key in frontier if key not in self._choices]
        if len(self._choices) + len(unknown) > self.limit:
            raise TooManySituations(
                f"More than {self.limit:,} situations can follow: measure by forking, or in a smaller game."
            )
        for first in range(0, len(unknown), BATCH):
            keys = unknown[first : first + BATCH]
            requests = (self.dynamics.request(key) for key in keys)
            self._choices.update(zip(keys, self.chooser.distributions(requests), strict=True))
        following: dict[Key, float] = {}
        for key, reach in frontier.items():
            self._reach[key] = max(reach, self._reach.get(key, 0.0))
            for action, probability in self._choices[key].items():
                for one in self.dynamics.transitions(key, action):
                    if one.key is not None:
                        following[one.key] = following.get(one.key, 0.0) + reach * probability * one.probability
        return {
            key: reach
            for key, reach in following.items()
            if reach >= self.floor and reach > self._reach.get(key, 0.0) * (1 + 1e-9)
        }

    def _value(self, key: Key) -> Range:
        """V of a situation; what was not followed counts like the rest, and may be anything within `BOUNDS`."""
        if key in self._values:
            return self._values[key]
        low, mean, high, followed = 0.0, 0.0, 0.0, 0.0
        for action, probability in self._choices.get(key, {}).items():
            transitions = self.dynamics.known(key, action)
            if transitions is not None:
                after = self._after(transitions)
                low, high = low + probability * after.low, high + probability * after.high
                mean, followed = mean + probability * after.mean, followed + probability
        rest = max(0.0, 1.0 - followed)
        mean = mean / followed if followed else sum(BOUNDS) / 2
        found = self._values[key] = Range(low + rest * BOUNDS[0], mean, high + rest * BOUNDS[1])
        return found

    def _after(self, transitions: Sequence[Transition]) -> Range:
        """Q of an action with these transitions."""
        low, mean, high = 0.0, 0.0, 0.0
        for one in transitions:
            later = NOTHING if one.key is None else self._value(one.key)
            low += one.probability * (one.reward + self.discount * later.low)
            mean += one.probability * (one.reward + self.discount * later.mean)
            high += one.probability * (one.reward + self.discount * later.high)
        return Range(low, mean, high)
