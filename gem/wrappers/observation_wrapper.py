"""Observations that carry the history: what an agent without memory needs to read."""

from __future__ import annotations

from typing import Any

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import InvalidArgument


class ObservationWrapper(EnvWrapper):
    """Each observation holds all earlier ones, one below the other, and ends with `info["suffix"]`.

    Args:
        include_action: put each action between the observations around it.
        max_history_length: keep only so many turns of history; the instructions, which come first, always stay.

    Raises:
        InvalidArgument: if `max_history_length` is below 1.
    """

    def __init__(self, env: Env, include_action: bool = False, max_history_length: int | None = None) -> None:
        super().__init__(env)
        if max_history_length is not None and max_history_length < 1:
            raise InvalidArgument(f"max_history_length must be at least 1, not {max_history_length}.")
        self.include_action = include_action
        self.max_history_length = max_history_length
        self._instructions = ""
        self._turns: list[list[str]] = []  # [action, observation] of each turn kept

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        self._instructions, info = self.env.reset(seed=seed)
        self._turns = []
        return self._history(info), info

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._turns.append([info.get("parsed_action", action), observation])
        if self.max_history_length is not None:
            del self._turns[: -self.max_history_length]
        return self._history(info), reward, terminated, truncated, info

    def _history(self, info: Info) -> str:
        parts = [self._instructions]
        for action, observation in self._turns:
            if self.include_action:
                parts.append(action)
            parts.append(observation)
        lines = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
        return f"{info.get('prefix', '')}{lines}{info.get('suffix', '')}"

    def _arguments(self) -> dict[str, Any]:
        return {"include_action": self.include_action, "max_history_length": self.max_history_length}

    def _get_own_state(self) -> State:
        return {"instructions": self._instructions, "turns": [list(turn) for turn in self._turns]}

    def _set_own_state(self, state: State) -> None:
        self._instructions = state["instructions"]
        self._turns = [list(turn) for turn in state["turns"]]
