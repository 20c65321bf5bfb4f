"""A turn limit from outside, as an evaluation sets it."""

from __future__ import annotations

from typing import Any

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import EpisodeOver, InvalidArgument
from gem.seats import with_success
from gem.validation.arguments import check_numbers
from gem.views import View, without_actions


class TimeLimit(EnvWrapper):
    """Truncates an episode after `max_turns` turns, if the environment has not ended it by then.

    The last reward stays as it is: rewards that an environment gives at its own limit are given only there.

    Raises:
        InvalidArgument: if `max_turns` is not a whole number, or below 1.
    """

    def __init__(self, env: Env, max_turns: int) -> None:
        super().__init__(env)
        check_numbers(type(self), {"max_turns": max_turns})
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self._limit = max_turns
        self._turn = 0
        self._cut = False

    @property
    def max_turns(self) -> int:  # type: ignore[override]  # here it follows from two limits
        """The smaller of this limit and the environment's own."""
        return min(self._limit, self.env.max_turns or self._limit)

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`; nobody after the limit."""
        return () if self._cut else self.env.to_act

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        self._turn, self._cut = 0, False
        return self.env.reset(seed=seed)

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        if self._cut:
            raise EpisodeOver("The episode is over; call reset() to begin another one.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._turn += 1
        if self._turn >= self._limit and not (terminated or truncated):
            self._cut = truncated = True
            said = f" That was turn {self._turn} of {self._limit}: the turn limit ends the episode."
            observation += said
            info = with_success(info, [False] * self.env.seats)
            for own in info.get("seats", ()):
                own["observation"] += said
        return observation, reward, terminated, truncated, info

    def view(self, seat: int = 0) -> View:
        """As `Env.view`; after the limit nothing can be acted on."""
        view = self.env.view(seat)
        return without_actions(view) if self._cut else view

    def _arguments(self) -> dict[str, Any]:
        return {"max_turns": self._limit}

    def _get_own_state(self) -> State:
        return {"turn": self._turn, "cut": self._cut}

    def _set_own_state(self, state: State) -> None:
        self._turn, self._cut = state["turn"], state["cut"]
