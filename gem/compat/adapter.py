"""What the contract asks of an environment besides `reset` and `step`, for those that define only these two."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from random import Random
from types import SimpleNamespace
from typing import Any

from gem.compat.global_rng import Chance
from gem.core import Env, EnvWrapper, Info, State, Step, check_action, check_reward
from gem.errors import EnvironmentFailure, EpisodeOver
from gem.rng import SplitMix64
from gem.views import TextView, View
from gem.wrappers.observation_wrapper import as_message

SOLVED = 1.0
"""The reward of a success in GEM."""
STEP = "(observation, reward, terminated, truncated, info)"


class GemEnvAdapter(EnvWrapper):
    """Keeps an environment that defines `reset` itself, as those written for GEM do, to the contract of `gem.core`.

    `gem.make` puts it there. Every episode has a seed, drawn if none is given. Turns outside an episode are refused.
    An end that is given as terminated and truncated at the same time, as GEM does, is the turn limit if `max_turns`
    turns were taken and the last one is no success, and the problem's own end otherwise. Where the last info does not
    say whether the problem was solved, it was if a terminal reward is at least `SOLVED`. Where the environment draws no
    picture, there is the text that an agent reads. What it draws from the generators of the whole process, as GEM's do,
    it draws from its own (see `gem.compat.global_rng`), unless it is registered as slow: nobody waits for it then.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        bare = SimpleNamespace()
        Env.__init__(bare)  # type: ignore[arg-type]  # what every environment has, for a class that does not call it
        for name, value in vars(bare).items():
            vars(env).setdefault(name, value)
        self.added_by_make = True
        self._turn = 0
        self._asked = 0
        self._over = True
        self._shown = ""
        self._chance = Chance(type(env))

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`; nobody outside an episode."""
        return () if self._over else self.env.to_act

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`.

        Raises:
            EnvironmentFailure: if the environment returns something else than an observation and an info.
        """
        seed = self.env._choose_seed(seed)  # noqa: SLF001 (of our own class)
        self.env._next_seed = None  # noqa: SLF001
        with self._lent(seed):
            begun: Any = self.env.reset(seed=seed)
        if not _is_answer(begun, 2):
            raise EnvironmentFailure(self._returned("reset", begun, "(observation, info)"))
        self.env.seed = seed
        self._turn, self._asked, self._over = 0, 0, False
        observation, info = begun
        self._shown = as_message(observation, info)
        return observation, info

    def step(self, action: str) -> Step:
        """As `Env.step`.

        Raises:
            EnvironmentFailure: if the environment returns something else than five values, or a reward that is no
                number.
        """
        if self._over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        check_action(action)
        with self._lent():
            taken: Any = self.env.step(action)
        if not _is_answer(taken, 5):
            raise EnvironmentFailure(self._returned("step", taken, STEP))
        observation, given, terminated, truncated, info = taken
        reward = check_reward(given)
        self._turn += 1
        self._asked = 0
        if terminated or truncated:
            self._over = True
            solved = bool(info.get("success", terminated and reward >= SOLVED))
            if terminated and truncated:
                terminated = solved or not 0 < self.env.max_turns <= self._turn
            info = {**info, "success": solved}
        self._shown = as_message(observation, info)
        return observation, reward, bool(terminated), bool(truncated and not terminated), info

    def sample_random_action(self) -> str:
        """As `Env.sample_random_action`.

        A class that draws it from `self.rng` or from a generator of the whole process draws it from another one, which
        follows from the seed, the turn and how often this turn was asked: so asking changes nothing.
        """
        self._asked += 1
        seed = int(SplitMix64(self.env.seed or 0, self._turn, self._asked).random() * 2**53)
        own = self.env.rng
        if type(own) is Random:
            self.env.rng = Random(seed)
        try:
            with self._chance.aside(seed) if self._has_chance else nullcontext():
                return self.env.sample_random_action()
        finally:
            self.env.rng = own

    def view(self, seat: int = 0) -> View:
        """As `Env.view`; the text that an agent reads where the environment draws nothing."""
        if type(self.env).view is not Env.view:
            return self.env.view(seat)
        spec = self.env.spec
        return TextView(kind="text", name=spec.family if spec else type(self.env).__name__, text=self._shown)

    @property
    def _has_chance(self) -> bool:
        """Whether it has generators of its own; a slow one would keep those of the process for as long as it takes."""
        return self.env.spec is None or self.env.spec.cost == "fast"

    def _lent(self, seed: int | None = None) -> AbstractContextManager[None]:
        return self._chance.lent(seed) if self._has_chance else nullcontext()

    def _returned(self, method: str, value: object, wanted: str) -> str:
        given = ", ".join(type(one).__name__ for one in value) if isinstance(value, tuple) else type(value).__name__
        return (
            f"{type(self.env).__name__}.{method}() must return {wanted}, the observation a text and the info a "
            f"dictionary; it returned {given}."
        )

    def _get_own_state(self) -> State:
        return {"turn": self._turn, "over": self._over, "shown": self._shown, "chance": self._chance.pack()}

    def _set_own_state(self, state: State) -> None:
        self._turn, self._over, self._shown = state["turn"], state["over"], state["shown"]
        self._chance.unpack(state["chance"])
        self._asked = 0


def _is_answer(value: Any, length: int) -> bool:
    """Whether it is what `reset` or `step` has to return, so many values with a text first and an info last."""
    return (
        isinstance(value, tuple) and len(value) == length and isinstance(value[0], str) and isinstance(value[-1], dict)
    )
