"""Rewards of another size, as a trainer may want them. The record keeps what the agent earned through the wrapper."""

from __future__ import annotations

import math
from typing import Any

from gem.core import Env, EnvWrapper, Step
from gem.errors import InvalidArgument


class ScaleReward(EnvWrapper):
    """Every reward times `factor`, plus `offset`.

    Raises:
        InvalidArgument: if one of them is not finite.
    """

    def __init__(self, env: Env, factor: float = 1.0, offset: float = 0.0) -> None:
        super().__init__(env)
        if not (math.isfinite(factor) and math.isfinite(offset)):
            raise InvalidArgument(f"factor and offset must be finite numbers, not {factor} and {offset}.")
        self.factor, self.offset = factor, offset

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward * self.factor + self.offset, terminated, truncated, info

    def _arguments(self) -> dict[str, Any]:
        return {"factor": self.factor, "offset": self.offset}


class ClipReward(EnvWrapper):
    """No reward below `low` or above `high`.

    Raises:
        InvalidArgument: if `low` is not below `high`.
    """

    def __init__(self, env: Env, low: float = -1.0, high: float = 1.0) -> None:
        super().__init__(env)
        if not low < high:
            raise InvalidArgument(f"low must be below high; {low} and {high} leave nothing between them.")
        self.low, self.high = low, high

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(min(max(reward, self.low), self.high)), terminated, truncated, info

    def _arguments(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high}


class RewardSuccess(EnvWrapper):
    """1 when the episode ends solved, other rewards at a share of what they were; penalties stay whole.

    For environments that pay for coming near: where a near miss earns almost as much as the goal, a policy settles
    for near misses. It asks `info["success"]`, so an environment that does not say it earns its share only.

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

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if (terminated or truncated) and info.get("success"):
            reward = 1.0
        elif reward > 0:
            reward *= self.partial
        return observation, float(reward), terminated, truncated, info

    def _arguments(self) -> dict[str, Any]:
        return {"partial": self.partial}
