"""Our engine."""

from __future__ import annotations

from typing import Any

import gem
from bench.engine.timing import Spent, bytes_each, play, step_alone, step_vector
from gem.vector import SyncVectorEnv, VectorEnv


class Side:
    """Answers the questions of `bench.engine`."""

    def __init__(self) -> None:
        self.envs: dict[str, list[gem.Env]] = {}
        self.states: dict[str, list[dict[str, Any]]] = {}
        self.vectors: dict[str, VectorEnv] = {}

    def prepare(self, env_id: str, states: list[dict[str, Any]]) -> None:
        """Make an environment for each of these states (see tests/engine/parity/adapter.py)."""
        self.states[env_id] = states
        self.envs[env_id] = [gem.make(env_id) for _ in states]

    def steps(self, env_id: str, actions: list[list[str]]) -> Spent:
        """Play the prepared episodes with these actions."""
        for env, state in zip(self.envs[env_id], self.states[env_id], strict=True):
            env.set_state(state)
        return play([(env.step, own) for env, own in zip(self.envs[env_id], actions, strict=True)])

    def alone(self, env_id: str, turns: list[list[str]]) -> Spent:
        """Step as many environments as a turn has actions, without a vector."""
        vector = self._vector(env_id, len(turns[0]), "sync")
        assert isinstance(vector, SyncVectorEnv)
        return step_alone(vector.envs, turns)

    def vector(self, env_id: str, turns: list[list[str]], kind: str) -> Spent:
        """Step a vector ("sync", "threads" or "processes")."""
        return step_vector(self._vector(env_id, len(turns[0]), kind), turns)

    def _vector(self, env_id: str, num_envs: int, kind: Any) -> VectorEnv:
        key = f"{env_id} {num_envs} {kind}"
        if key not in self.vectors:
            self.vectors[key] = gem.make_vec([env_id] * num_envs, async_mode=kind)
        self.vectors[key].reset(seed=0)
        return self.vectors[key]

    def memory(self, env_id: str, count: int) -> float:
        """Bytes of an environment in its first episode."""
        seeds = iter(range(count + 2))

        def make() -> gem.Env:
            env = gem.make(env_id)
            env.reset(seed=next(seeds))
            env.step(env.sample_random_action())
            return env

        return bytes_each(make, count)
