"""Rewards of another size, as a trainer may want them. The record keeps what the agent earned through the wrapper.

Where there are several seats, the reward of each in `info["seats"]` is transformed as well. If the environment pays a
seat at most once between two of its actions, as all built-in ones do, a seat earns the same with the wrapper inside and
outside of `opponent`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from gem.core import Env, EnvWrapper, Step
from gem.errors import InvalidArgument
from gem.seats import success


class _RewardWrapper(EnvWrapper):
    """Transforms the reward of each seat with `_transform`."""

    @abstractmethod
    def _transform(self, reward: float, *, has_acted: bool, is_success: bool) -> float:
        """Return what a seat earns in a turn instead of `reward`.

        Args:
            has_acted: whether it was the turn of this seat, and not of another.
            is_success: whether the episode has ended with success for this seat.
        """

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        to_act = self.env.to_act
        actor = to_act[0] if to_act else 0
        observation, reward, terminated, truncated, info = self.env.step(action)
        is_over = terminated or truncated
        earned = self._transform(reward, has_acted=True, is_success=is_over and success(actor, info))
        if "seats" in info:
            info = {**info, "seats": [dict(seat_info) for seat_info in info["seats"]]}
            for seat, seat_info in enumerate(info["seats"]):
                seat_info["reward"] = self._transform(
                    seat_info["reward"], has_acted=seat == actor, is_success=is_over and success(seat, info)
                )
        return observation, earned, terminated, truncated, info


class ScaleReward(_RewardWrapper):
    """Every reward times `factor`, plus `offset`.

    Where there are several seats, only the seat that acted gets the offset, so that each gets it once for each of its
    actions.

    Raises:
        InvalidArgument: if one of them is not finite.
    """

    def __init__(self, env: Env, factor: float = 1.0, offset: float = 0.0) -> None:
        super().__init__(env)
        if not (math.isfinite(factor) and math.isfinite(offset)):
            raise InvalidArgument(f"factor and offset must be finite numbers, not {factor} and {offset}.")
        self.factor, self.offset = factor, offset

    def _transform(self, reward: float, *, has_acted: bool, is_success: bool) -> float:
        scaled = reward * self.factor
        return scaled + self.offset if has_acted else scaled

    def _arguments(self) -> dict[str, Any]:
        return {"factor": self.factor, "offset": self.offset}


class ClipReward(_RewardWrapper):
    """No reward below `low` or above `high`.

    Raises:
        InvalidArgument: if `low` is not below `high`, or there are several seats and 0 is not between them: then a seat
            would be paid for the turns of the others.
    """

    def __init__(self, env: Env, low: float = -1.0, high: float = 1.0) -> None:
        super().__init__(env)
        if not low < high:
            raise InvalidArgument(f"low must be below high; {low} and {high} leave nothing between them.")
        if env.seats > 1 and not low <= 0 <= high:
            raise InvalidArgument(
                f"With several seats, low and high need 0 between them, not {low} and {high}: a seat earns 0 in the "
                "turns of the others. Put clip_reward around opponent to clip what one seat earns."
            )
        self.low, self.high = low, high

    def _transform(self, reward: float, *, has_acted: bool, is_success: bool) -> float:
        return float(min(max(reward, self.low), self.high))

    def _arguments(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high}


class RewardSuccess(_RewardWrapper):
    """1 when the episode ends solved, other rewards at a share of what they were; penalties stay whole.

    For environments that pay for coming near: where a near miss earns almost as much as the goal, a policy settles
    for near misses. It asks `info["success"]`, so an environment that does not say it earns its share only.
    Where there are several seats, each is paid for its own success.

    Args:
        partial: share of rewards that are not for success, from 0 (success alone counts) to 1.

    Raises:
        InvalidArgument: if `partial` is outside that range.
    """

    def __init__(self, env: Env, partial: float = 0.0) -> None:
        super().__init__(env)
        if not 0 <= partial <= 1:
            raise InvalidArgument(f"partial must be from 0 to 1, not {partial}.")
        self.partial = partial

    def _transform(self, reward: float, *, has_acted: bool, is_success: bool) -> float:
        if is_success:
            return 1.0
        return float(reward * self.partial if reward > 0 else reward)

    def _arguments(self) -> dict[str, Any]:
        return {"partial": self.partial}
