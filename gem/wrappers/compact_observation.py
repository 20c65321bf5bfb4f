"""Observations of the state only, for models with little room."""

from __future__ import annotations

from typing import Any

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.seats import SPECTATOR
from gem.views.plain_text import text_of


class CompactObservation(EnvWrapper):
    """Each observation is the board as plain text, without rules, history or prompt.

    The last answer of the environment may stand before it, as one paragraph. The info keeps no `suffix`, so nothing
    is said twice.

    Where there are several seats, each reads in `info["seats"]` the board as it may see it, and the public observation
    is the board that spectators see.

    Args:
        answer: put the environment's answer to the last action before the board.
        instructions: begin an episode with the rules.
    """

    def __init__(self, env: Env, answer: bool = False, instructions: bool = False) -> None:
        super().__init__(env)
        self.answer, self.instructions = answer, instructions
        self._has_acted: list[bool] = []
        """For each of several seats, whether it has acted in this episode."""

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        observation, info = self.env.reset(seed=seed)
        self._has_acted = [False for _ in info.get("seats", ())]
        return self._compact(observation if self.instructions else "", info)

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        to_act = self.env.to_act
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._has_acted:
            self._has_acted[to_act[0]] = True
        observation, info = self._compact(observation if self.answer else "", info)
        return observation, reward, terminated, truncated, info

    def _compact(self, before: str, info: Info) -> tuple[str, Info]:
        """Return the observation and info with boards in place of the texts, and `before` before the public board."""
        compact_info = _without_suffix(info)
        if "seats" not in info:
            return self._board(before, 0), compact_info
        compact_info["seats"] = [
            {**_without_suffix(seat_info), "observation": self._board(self._kept_text(seat, seat_info), seat)}
            for seat, seat_info in enumerate(info["seats"])
        ]
        return self._board(before, SPECTATOR), compact_info

    def _kept_text(self, seat: int, seat_info: Info) -> str:
        """Return what a seat reads before the board; the episode begins for it before its first action."""
        is_kept = self.answer if self._has_acted[seat] else self.instructions
        return str(seat_info["observation"]) if is_kept else ""

    def _board(self, before: str, seat: int) -> str:
        board = text_of(self.env.view(seat))
        return f"{before}\n\n{board}" if before else board

    def _arguments(self) -> dict[str, Any]:
        return {"answer": self.answer, "instructions": self.instructions}

    def _get_own_state(self) -> State:
        return {"has_acted": list(self._has_acted)} if self._has_acted else {}

    def _set_own_state(self, state: State) -> None:
        self._has_acted = list(state.get("has_acted", ()))


def _without_suffix(info: Info) -> Info:
    return {name: value for name, value in info.items() if name != "suffix"}
