"""Running totals of an episode in `info`."""

from __future__ import annotations

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.seats import rewards


class EpisodeTrackingWrapper(EnvWrapper):
    """Adds `step_counter` and `cumulative_rewards` to each info.

    The info of `reset` also has `prev_ep_step_counter` and `prev_ep_cumulative_rewards`, the totals of the episode
    before. Where there are several seats, the rewards are those of the first one, and each seat's are in
    `info["seats"]`.
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        self.step_counter = 0
        self.cumulative_rewards = 0.0
        self._of_seats = [0.0] * env.seats

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        before = {"prev_ep_step_counter": self.step_counter, "prev_ep_cumulative_rewards": self.cumulative_rewards}
        observation, info = self.env.reset(seed=seed)
        self.step_counter, self.cumulative_rewards = 0, 0.0
        self._of_seats = [0.0] * self.env.seats
        return observation, {**self._with_totals(info), **before}

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.step_counter += 1
        earned = rewards(reward, info)
        self._of_seats = [total + one for total, one in zip(self._of_seats, earned, strict=True)]
        self.cumulative_rewards = self._of_seats[0]
        return observation, reward, terminated, truncated, self._with_totals(info)

    def _with_totals(self, info: Info) -> Info:
        info = {**info, **self._totals()}
        if "seats" in info:
            pairs = zip(info["seats"], self._of_seats, strict=True)
            info["seats"] = [{**own, "cumulative_rewards": total} for own, total in pairs]
        return info

    def _totals(self) -> Info:
        return {"step_counter": self.step_counter, "cumulative_rewards": self.cumulative_rewards}

    def _get_own_state(self) -> State:
        return {**self._totals(), "of_seats": list(self._of_seats)}

    def _set_own_state(self, state: State) -> None:
        self.step_counter = state["step_counter"]
        self.cumulative_rewards = state["cumulative_rewards"]
        self._of_seats = list(state["of_seats"])
