"""Environments as people write them for GEM: a class with `reset` and `step`, and nothing else."""

from __future__ import annotations

from typing import Any

from gem.utils.constants import TERMINAL_STATE  # type: ignore[import-not-found]  # an alias of gem.compat
from gem.utils.parsing import extract_last_boxed_answer  # type: ignore[import-not-found]

from gem.core import Env

LETTERS = "abcdefgh"


class Sorting(Env):
    """One question, one answer; ends terminated and truncated at once, and has no word for success."""

    def __init__(self, length: int = 5) -> None:
        super().__init__()
        self.length = length

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed)
        self.letters = "".join(self.rng.choices(LETTERS, k=self.length))
        return f"Sort the letters {self.letters} into \\boxed{{}}.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        right = extract_last_boxed_answer(action) == self.solution
        return TERMINAL_STATE, float(right), True, True, {}

    @property
    def solution(self) -> str:
        return "".join(sorted(self.letters))


class Countdown(Env):
    """Several turns, odd attributes, rewards that are no floats; its constructor calls no other."""

    def __init__(self, max_turns: int = 3, **_: Any) -> None:
        self.max_turns = max_turns

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed)
        self.turn_count = 0
        self.tried: set[int] = set()
        self.places = {(0, 1): {"x": [1.5, float("inf")]}, (1, 0): (b"\0", None)}
        self.secret = self.rng.randint(1, 9)
        return "Guess from 1 to 9.", {"suffix": "Your guess?"}

    def step(self, action: str) -> tuple[str, int, bool, bool, dict[str, Any]]:
        self.turn_count += 1
        self.tried.add(int(action))
        solved = int(action) == self.secret
        over = self.turn_count >= self.max_turns
        return f"Tried {sorted(self.tried)}.", int(solved), solved or over, over, {"suffix": "Your guess?"}
