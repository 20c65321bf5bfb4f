"""An adapter for environments that define only `reset` and `step`, which adds the rest of the contract."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from random import Random
from types import SimpleNamespace
from typing import Any

from gem.compat.global_rng import GlobalRngState
from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import EnvironmentFailure, EpisodeOver
from gem.rng import SplitMix64
from gem.validation.values import check_action, check_reward
from gem.views import TextView, View
from gem.wrappers.observation_wrapper import as_message

SOLVED = 1.0
"""The reward of a success in GEM."""
STEP_RESULT = "(observation, reward, terminated, truncated, info)"


class GemEnvAdapter(EnvWrapper):
    """Makes an environment with a `reset` of its own, as those written for GEM have, keep the contract of `gem.core`.

    `gem.make` puts it around such environments. It adds these things:

    - Every episode has a seed, which is drawn if none is given, and a turn outside an episode raises `EpisodeOver`.
    - GEM's environments may return terminated and truncated at the same time. This counts as the turn limit if
      `max_turns` turns were taken and the last one is not a success, and as the end of the problem otherwise.
    - If the last info has no `success`, the episode is a success if it terminated with a reward of at least `SOLVED`.
    - If the environment has no view, the view is the text that an agent reads.
    - If it draws from the random generators of the process, as GEM's environments do, it gets generators of its own
      (see `gem.compat.global_rng`). Those that are declared as slow do not, because all others would have to wait for
      their steps.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        defaults = SimpleNamespace()
        Env.__init__(defaults)  # type: ignore[arg-type]  # the class may not have called it itself
        for name, value in vars(defaults).items():
            vars(env).setdefault(name, value)
        self.added_by_make = True
        self._turn = 0
        self._sample_count = 0
        self._is_over = True
        self._message = ""
        self._rng_state = GlobalRngState(type(env))

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`; empty outside an episode."""
        return () if self._is_over else self.env.to_act

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """See `Env.reset`.

        Raises:
            EnvironmentFailure: if the environment does not return an observation and an info.
        """
        seed = self.env._choose_seed(seed)  # noqa: SLF001 (a method of the engine's own class)
        self.env._next_seed = None  # noqa: SLF001
        with self._installed_rng(seed):
            result: Any = self.env.reset(seed=seed)
        if not _is_result(result, 2):
            raise EnvironmentFailure(self._result_error("reset", result, "(observation, info)"))
        self.env.seed = seed
        self._turn, self._sample_count, self._is_over = 0, 0, False
        observation, info = result
        self._message = as_message(observation, info)
        return observation, info

    def step(self, action: str) -> Step:
        """See `Env.step`.

        Raises:
            EnvironmentFailure: if the environment does not return five values of the right types.
        """
        if self._is_over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        check_action(action)
        with self._installed_rng():
            result: Any = self.env.step(action)
        if not _is_result(result, 5):
            raise EnvironmentFailure(self._result_error("step", result, STEP_RESULT))
        observation, raw_reward, terminated, truncated, info = result
        reward = check_reward(raw_reward)
        self._turn += 1
        self._sample_count = 0
        if terminated or truncated:
            self._is_over = True
            success = info.get("success", terminated and reward >= SOLVED)
            if isinstance(success, str):  # of which any is true, "no" and "False" included
                raise EnvironmentFailure(f'info["success"] has to be True or False, not {success!r:.40}.')
            is_success = bool(success)
            if terminated and truncated:
                terminated = is_success or not 0 < self.env.max_turns <= self._turn
            info = {**info, "success": is_success}
        self._message = as_message(observation, info)
        return observation, reward, bool(terminated), bool(truncated and not terminated), info

    def draw_anew(self, key: int) -> None:
        """See `Env.draw_anew`; the generators of the process that it draws from are seeded as well."""
        if type(self.env.rng) is Random:
            self.env.rng.seed(key)
        self.env.draw_key = key
        with self._installed_rng(key):
            pass  # its generators are kept as they are when the block ends

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`.

        During the call, `self.rng` and the generators of the process are replaced by others, whose seed is computed
        from the seed of the episode, the turn and the number of calls in this turn, so that the call has no effect on
        later turns.
        """
        self._sample_count += 1
        keys = (self.env.draw_key, self.env.seed or 0) if self.env.draw_key else (self.env.seed or 0,)
        seed = int(SplitMix64(*keys, self._turn, self._sample_count).random() * 2**53)
        episode_rng = self.env.rng
        if type(episode_rng) is Random:
            self.env.rng = Random(seed)
        try:
            with self._rng_state.installed_temporarily(seed) if self._has_own_rng else nullcontext():
                return self.env.sample_random_action()
        finally:
            self.env.rng = episode_rng

    def view(self, seat: int = 0) -> View:
        """See `Env.view`; by default the text that an agent reads."""
        if type(self.env).view is not Env.view:
            return self.env.view(seat)
        spec = self.env.spec
        return TextView(kind="text", name=spec.family if spec else type(self.env).__name__, text=self._message)

    @property
    def _has_own_rng(self) -> bool:
        """Whether the environment gets generators of its own, for which other environments wait while it acts."""
        spec = self.env.spec
        return spec is None or spec.may_hold_rng

    def _installed_rng(self, seed: int | None = None) -> AbstractContextManager[None]:
        return self._rng_state.installed(seed) if self._has_own_rng else nullcontext()

    def _result_error(self, method: str, value: object, expected: str) -> str:
        actual = ", ".join(type(item).__name__ for item in value) if isinstance(value, tuple) else type(value).__name__
        return (
            f"{type(self.env).__name__}.{method}() must return {expected}, the observation a text and the info a "
            f"dictionary; it returned {actual}."
        )

    def _get_own_state(self) -> State:
        return {"turn": self._turn, "over": self._is_over, "shown": self._message, "chance": self._rng_state.pack()}

    def _set_own_state(self, state: State) -> None:
        self._turn, self._is_over, self._message = state["turn"], state["over"], state["shown"]
        self._rng_state.unpack(state["chance"])
        self._sample_count = 0


def _is_result(value: Any, length: int) -> bool:
    """Whether `value` is a tuple of this length with a string first and a dictionary last."""
    return (
        isinstance(value, tuple) and len(value) == length and isinstance(value[0], str) and isinstance(value[-1], dict)
    )
