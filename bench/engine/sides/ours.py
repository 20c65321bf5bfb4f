"""Our engine."""

from __future__ import annotations

import time
from typing import Any

import gem
from bench.engine.timing import Spent, bytes_each, children_seconds, play, step_alone, step_vector
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

    def prepare_own(self, env_id: str, seeds: list[int]) -> list[list[str]]:
        """Begin an episode for each seed where no peer gives one; random actions for each."""
        self.envs[env_id] = [gem.make(env_id) for _ in seeds]
        for env, seed in zip(self.envs[env_id], seeds, strict=True):
            env.reset(seed=seed)
        self.states[env_id] = [env.get_state() for env in self.envs[env_id]]
        return [[env.sample_random_action() for _ in range(env.max_turns)] for env in self.envs[env_id]]

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

    def wall(self, env_id: str, num_envs: int, turns: int, kind: str) -> tuple[float, float, list[float]]:
        """Seconds for so many turns of a vector: by the clock, of CPU time here, and of CPU time in each shard."""
        vector = self._vector(env_id, num_envs, kind)
        env = gem.make(env_id)
        env.reset(seed=0)
        actions = [[env.sample_random_action() for _ in range(num_envs)] for _ in range(turns)]
        shards, busy, clock = children_seconds(), time.process_time(), time.perf_counter()
        for own in actions:
            vector.step(own)
        clock, busy = time.perf_counter() - clock, time.process_time() - busy
        return clock, busy, [after - before for before, after in zip(shards, children_seconds(), strict=True)]

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
