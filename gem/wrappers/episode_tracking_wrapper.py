"""Running totals of an episode in `info`."""

from __future__ import annotations

from gem.core import Env, EnvWrapper, Info, State, Step


class EpisodeTrackingWrapper(EnvWrapper):
    """Adds `step_counter` and `cumulative_rewards` to each info.

    The info of `reset` also has `prev_ep_step_counter` and `prev_ep_cumulative_rewards`, the totals of the episode
    before.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.step_counter = 0
        self.cumulative_rewards = 0.0

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        before = {"prev_ep_step_counter": self.step_counter, "prev_ep_cumulative_rewards": self.cumulative_rewards}
        observation, info = self.env.reset(seed=seed)
        self.step_counter, self.cumulative_rewards = 0, 0.0
        return observation, {**info, **self._totals(), **before}

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.step_counter += 1
        self.cumulative_rewards += reward
        return observation, reward, terminated, truncated, {**info, **self._totals()}

    def _totals(self) -> Info:
        return {"step_counter": self.step_counter, "cumulative_rewards": self.cumulative_rewards}

    def _get_own_state(self) -> State:
        return self._totals()

    def _set_own_state(self, state: State) -> None:
        self.step_counter = state["step_counter"]
        self.cumulative_rewards = state["cumulative_rewards"]
