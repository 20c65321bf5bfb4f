"""Observations of the state only, for models with little room."""

from __future__ import annotations

from typing import Any

from gem.core import Env, EnvWrapper, Info, Step
from gem.views.plain_text import text_of


class CompactObservation(EnvWrapper):
    """Each observation is the board as plain text, without rules, history or prompt.

    The last answer of the environment may stand before it, as one paragraph. The info keeps no `suffix`, so nothing
    is said twice.

    Args:
        answer: put the environment's answer to the last action before the board.
        instructions: begin an episode with the rules.
    """

    def __init__(self, env: Env, answer: bool = False, instructions: bool = False) -> None:
        super().__init__(env)
        self.answer, self.instructions = answer, instructions

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        observation, info = self.env.reset(seed=seed)
        return self._compact(observation if self.instructions else ""), _without_suffix(info)

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        text = self._compact(observation if self.answer else "")
        return text, reward, terminated, truncated, _without_suffix(info)

    def _compact(self, before: str) -> str:
        board = text_of(self.env.view())
        return f"{before}\n\n{board}" if before else board

    def _arguments(self) -> dict[str, Any]:
        return {"answer": self.answer, "instructions": self.instructions}


def _without_suffix(info: Info) -> Info:
    return {name: value for name, value in info.items() if name != "suffix"}
