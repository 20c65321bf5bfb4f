"""The grader of GEM, the package gem-llm: the function that its MathEnv calls."""

from __future__ import annotations

import importlib
import time
from typing import Any


class Side:
    """Answers the questions of `bench.tools.math`."""

    def __init__(self) -> None:
        grader: Any = importlib.import_module("gem.utils.math_grader")
        self.grade = grader.boxed_reward_fn

    def seconds(self, pairs: list[tuple[str, str]]) -> float:
        """By the clock, for grading all pairs of a text with a box and a reference."""
        begun = time.perf_counter()
        for text, reference in pairs:
            self.grade(text, reference, fast=False, correct_reward=1, incorrect_reward=0)
        return time.perf_counter() - begun

    def grades(self, pairs: list[tuple[str, str]]) -> list[bool]:
        """What it says of each pair."""
        return [bool(self.grade(text, reference, fast=False)[1]) for text, reference in pairs]
