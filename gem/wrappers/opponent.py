"""An agent in all seats but one, so that the environment has one seat for everybody who acts from that one."""

from __future__ import annotations

from typing import Any

from gem.agents.agent import Agent, Request, decisions_of
from gem.agents.kinds import make_agent
from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import EnvironmentFailure, InvalidArgument
from gem.rng import SplitMix64, randbelow
from gem.seats import SPECTATOR, observation_for_seat
from gem.views import View

OF_THE_ACTION = ("error", "parsed_action")
"""Entries of an info that say something of the own action, whatever the opponent did after it."""
_SEAT_DRAW = 0x5EA7
"""Sets the draw of the seat apart from all others that follow from a seed."""


class Opponent(EnvWrapper):
    """Plays the other seats of an environment with an agent.

    An episode follows from its seed and the actions of the one seat: the built-in agents decide from those alone. The
    observations, rewards, infos and views are that seat's, so that everything for one seat works: training, tools
    around an environment, evaluation, replay.

    Args:
        agent: a kind of `gem.agents`, or any `Agent`; with one that cannot be named, an episode is not replayable.
        seat: the seat that is left to act from; None draws it for each episode from its seed.
        added_by_make: whether `gem.make` put it here, so that the environment's own arguments say so.

    Raises:
        InvalidArgument: if the environment has one seat only, or there is no such seat or agent.
    """

    def __init__(
        self, env: Env, agent: str | Agent = "random", seat: int | None = None, *, added_by_make: bool = False
    ) -> None:
        super().__init__(env)
        self.added_by_make = added_by_make
        if env.seats < 2:
            raise InvalidArgument("The environment has one seat, so there is nobody to play against.")
        if seat is not None and seat not in range(env.seats):
            raise InvalidArgument(f"The seats are 0 to {env.seats - 1}; there is no seat {seat!r}.")
        self.opponent = agent
        self._agent = make_agent(agent) if isinstance(agent, str) else agent
        self._seat = seat
        self.seat = seat or 0
        """The seat acted from in this episode."""
        self._turn = 0

    def replace_agent(self, agent: Agent) -> None:
        """Let another agent decide from now on; `opponent` stays as it is."""
        self._agent = agent

    @property
    def seats(self) -> int:
        """One: the others are taken."""
        return 1

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`; the one seat has the number 0."""
        return (0,) if self.env.to_act else ()

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`; the opponent has already acted if it begins."""
        observation, info = self.env.reset(seed=seed)
        self._turn = 0
        if self._seat is None:
            assert self.env.unwrapped.seed is not None
            self.seat = randbelow(SplitMix64(self.env.unwrapped.seed, _SEAT_DRAW), self.env.seats)
        begun = self._others_play((observation, 0.0, False, False, info))
        if begun[2] or begun[3]:
            raise EnvironmentFailure("The opponent ended the episode before anybody else could act.")
        reading, own = self._own(begun)
        own.pop("error", None)
        return reading, own

    def step(self, action: str) -> Step:
        """As `Env.step`; the opponent's turns up to the next own one are part of it."""
        first = self.env.step(action)
        self._turn += 1
        first_own = self._own(first)[1]
        last = self._others_play(first)
        reading, own = self._own(last)
        own |= {name: first_own[name] for name in OF_THE_ACTION if name in first_own}
        return reading, self._earned, last[2], last[3], own

    def _others_play(self, step: Step) -> Step:
        """Go on from `step` until the own seat is to act or the episode is over; what it earned is added up."""
        self._earned = self._reward(step)
        while not (step[2] or step[3]) and (acting := self.env.to_act[0]) != self.seat:
            reading, info = observation_for_seat(acting, step[0], step[4])
            request = Request(self.env, reading, info, self._turn + 1, acting)
            step = self.env.step(decisions_of(self._agent, [request])[0].action)
            self._turn += 1
            self._earned += self._reward(step)
        return step

    def _reward(self, step: Step) -> float:
        return float(step[4]["seats"][self.seat]["reward"])

    def _own(self, step: Step) -> tuple[str, Info]:
        reading, own = observation_for_seat(self.seat, step[0], step[4])
        own.pop("reward")
        return reading, own

    def view(self, seat: int = 0) -> View:
        """As `Env.view`, from the own seat."""
        return self.env.view(SPECTATOR if seat == SPECTATOR else self.seat)

    def _arguments(self) -> dict[str, Any]:
        made = {"added_by_make": True} if self.added_by_make else {}
        return {"agent": self.opponent, "seat": self._seat, **made}

    def _get_own_state(self) -> State:
        return {"seat": self.seat, "turn": self._turn}

    def _set_own_state(self, state: State) -> None:
        self.seat, self._turn = state["seat"], state["turn"]
