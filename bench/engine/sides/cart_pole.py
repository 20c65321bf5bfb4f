"""Gymnasium's vectors of its CartPole, for reference."""

from __future__ import annotations

import importlib
import time
from typing import Any

from bench.engine.timing import Spent, children_seconds, step_alone

VECTORS = {"sync": "SyncVectorEnv", "processes": "AsyncVectorEnv"}


class Side:
    """Answers the questions of `bench.engine`."""

    def __init__(self) -> None:
        self.gymnasium = importlib.import_module("gymnasium")
        self.vectors: dict[str, Any] = {}

    def alone(self, env_id: str, turns: list[list[int]]) -> Spent:
        """Step as many environments as a turn has actions, without a vector."""
        return step_alone(self._vector(env_id, len(turns[0]), "sync").envs, turns)

    def vector(self, env_id: str, turns: list[list[int]], kind: str) -> Spent:
        """Step a vector; the CPU time of its processes counts as well (AsyncVectorEnv has one for each environment)."""
        vector = self._vector(env_id, len(turns[0]), kind)
        numpy = importlib.import_module("numpy")
        actions = [numpy.array(own) for own in turns]
        before = time.process_time() + sum(children_seconds())
        for own in actions:
            vector.step(own)
        return time.process_time() + sum(children_seconds()) - before, len(turns) * len(turns[0])

    def _vector(self, env_id: str, num_envs: int, kind: str) -> Any:
        key = f"{num_envs} {kind}"
        if key not in self.vectors:
            make = getattr(self.gymnasium.vector, VECTORS[kind])
            self.vectors[key] = make([lambda: self.gymnasium.make(env_id)] * num_envs)
        self.vectors[key].reset(seed=0)
        return self.vectors[key]
