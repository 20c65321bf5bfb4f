"""TextArena, for reference: its own hidden states, the same actions in its notation, `[...]` for `\\boxed{...}`.

A turn here is `step` and `get_observation`, without the wrappers that TextArena puts around by default.
"""

from __future__ import annotations

import copy
import importlib
import re
import time
from typing import Any

from bench.engine.timing import Spent, bytes_each

IDS = {
    "game:GuessTheNumber-v0-hard": "GuessTheNumber-v0-hardcore-raw",
    "game:Mastermind-v0-hard": "Mastermind-v0-hard-raw",
    "game:Wordle-v0-hard": "Wordle-v0-raw",
    "game:Hangman-v0-hard": "Hangman-v0-raw",
    "game:TowerofHanoi-v0-easy": "TowerOfHanoi-v0-raw",
    "game:TowerofHanoi-v0-hard": "TowerOfHanoi-v0-hard-raw",
    "game:FifteenPuzzle-v0-hard": "FifteenPuzzle-v0-raw",
    "game:Minesweeper-v0-easy": "Minesweeper-v0-small-raw",
    "game:Minesweeper-v0-hard": "Minesweeper-v0-raw",
    "game:Game2048-v0-easy": "2048-v0-mega-easy-raw",
    "game:Game2048-v0-hard": "2048-v0-very-easy-raw",
    "game:Sokoban-v0-easy": "Sokoban-v0-raw",
    "game:Crosswords-v0-easy": "Crosswords-v0-raw",
    "game:Crosswords-v0-hard": "Crosswords-v0-hardcore-raw",
    "game:WordSearch-v0-easy": "WordSearch-v0-raw",
    "game:WordSearch-v0-hard": "WordSearch-v0-hardcore-raw",
    "game:Sudoku-v0-hard": "Sudoku-v0-raw",
}
"""Ours to the nearest of TextArena's."""


class Side:
    """Answers the questions of `bench.engine`."""

    def __init__(self) -> None:
        self.library = importlib.import_module("textarena")
        self.envs: dict[str, list[Any]] = {}

    def prepare(self, env_id: str, seeds: list[int]) -> None:
        """Begin an episode for each seed.

        Raises:
            KeyError: if TextArena has no such environment.
        """
        self.envs[env_id] = [self._begun(IDS[env_id], seed) for seed in seeds]

    def _begun(self, own_id: str, seed: int) -> Any:
        env = self.library.make(own_id)
        env.reset(num_players=1, seed=seed)
        return env

    def steps(self, env_id: str, actions: list[list[str]]) -> Spent:
        """Play the prepared episodes with the first of these actions, translated."""
        envs = copy.deepcopy(self.envs[env_id])
        verb = re.compile(r"\\boxed{(?:reveal |flag )?(.*)}")
        translated = [[verb.sub(r"[\1]", action) for action in own] for own in actions]
        turns = 0
        before = time.process_time()
        for env, own in zip(envs, translated, strict=False):
            for action in own:
                turns += 1
                done, _ = env.step(action)
                env.get_observation()
                if done:
                    break
        return time.process_time() - before, turns

    def memory(self, env_id: str, count: int) -> float:
        """Bytes of an environment in its first episode."""
        seeds = iter(range(count + 2))
        return bytes_each(lambda: self._begun(IDS[env_id], next(seeds)), count)
