"""GEM, the package gem-llm."""

from __future__ import annotations

import copy
import importlib
import random
from typing import Any

from bench.engine.timing import Spent, bytes_each, play, step_alone, step_vector

LISTS = {"all_words", "available_words", "word_list"}
"""Fields that hold a word list: they are no part of an episode."""


class Side:
    """Answers the questions of `bench.engine`. GEM draws from the global generator; every verb seeds it."""

    def __init__(self) -> None:
        nltk: Any = importlib.import_module("nltk")
        nltk.download = lambda *_, **__: True  # every environment would ask the network again
        self.gem = importlib.import_module("gem")
        self.envs: dict[str, list[Any]] = {}
        self.starts: dict[str, list[dict[str, Any]]] = {}
        self.vectors: dict[str, Any] = {}

    def prepare(self, env_id: str, seeds: list[int]) -> list[dict[str, Any]]:
        """Make an environment for each seed; the hidden fields of their first episodes."""
        self.envs[env_id] = [self._begun(env_id, seed) for seed in seeds]
        self.starts[env_id] = [
            copy.deepcopy({name: value for name, value in vars(env).items() if name not in LISTS})
            for env in self.envs[env_id]
        ]
        return [{name: plain(value) for name, value in start.items()} for start in self.starts[env_id]]

    def _begun(self, env_id: str, seed: int) -> Any:
        random.seed(seed)  # making an environment begins an episode, which takes seconds in Sokoban: it is kept
        return self.gem.make(env_id)

    def steps(self, env_id: str, actions: list[list[str]]) -> Spent:
        """Play the prepared episodes with these actions."""
        random.seed(1)
        for env, start in zip(self.envs[env_id], self.starts[env_id], strict=True):
            vars(env).update(copy.deepcopy(start))
        return play([(env.step, own) for env, own in zip(self.envs[env_id], actions, strict=True)])

    def alone(self, env_id: str, turns: list[list[str]]) -> Spent:
        """Step as many environments as a turn has actions, without a vector."""
        return step_alone(self._vector(env_id, len(turns[0]), "sync").envs, turns)

    def vector(self, env_id: str, turns: list[list[str]], kind: str) -> Spent:
        """Step a vector ("sync", or "threads" for GEM's AsyncVectorEnv)."""
        return step_vector(self._vector(env_id, len(turns[0]), kind), turns)

    def _vector(self, env_id: str, num_envs: int, kind: str) -> Any:
        key = f"{env_id} {num_envs} {kind}"
        if key not in self.vectors:
            self.vectors[key] = self.gem.make_vec([env_id] * num_envs, async_mode=kind == "threads")
        self.vectors[key].reset(seed=0)
        return self.vectors[key]

    def memory(self, env_id: str, count: int) -> float:
        """Bytes of an environment in its first episode."""
        random.seed(0)
        return bytes_each(lambda: self.gem.make(env_id), count)


def plain(value: Any) -> Any:
    """A hidden field as JSON: sets as sorted lists, arrays as lists, what JSON does not know as text."""
    if isinstance(value, set):
        return sorted(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
