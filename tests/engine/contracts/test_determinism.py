"""The same id, arguments, seed and actions give the same turns, wherever and beside whatever they are played."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import gem
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from tests.engine import golden, ids
from tests.engine.episodes import random_episode

ROOT = Path(__file__).parents[3]


def test_the_same_seed_gives_the_same_episode(env_id: str) -> None:
    first, second = gem.make(env_id), gem.make(env_id)
    random_episode(second, 3)
    for seed in (0, 1, 2**53, 2**63 - 1):
        assert random_episode(first, seed) == random_episode(second, seed)


def test_a_seed_names_an_episode_whether_given_to_make_or_to_reset(env_id: str) -> None:
    made, reset = gem.make(env_id, seed=11), gem.make(env_id)
    assert made.reset() == reset.reset(seed=11)
    assert made.seed == reset.seed == 11
    assert made.reset() == reset.reset()  # the next seed follows from the first
    assert made.seed == reset.seed != 11


def test_other_environments_and_the_global_generator_do_not_matter(env_id: str) -> None:
    expected = [random_episode(gem.make(env_id), seed) for seed in range(2)]
    fast = [spec for spec in map(gem.spec, ids.played()) if spec.cost == "fast" and not spec.difficulty]
    beside = {spec.family if spec.category == "game" else spec.category: spec.id for spec in fast}
    others = {name: gem.make(other_id, seed=5) for name, other_id in beside.items()}
    env = gem.make(env_id)
    for seed, wanted in enumerate(expected):
        for other in others.values():
            other.reset()
        observation, info = env.reset(seed=seed)
        played = [[None, observation, 0.0, False, False, info]]
        while not (played[-1][3] or played[-1][4]):
            random.seed(seed)
            for other in others.values():
                if getattr(other, "over", False):
                    other.reset()
                other.step(other.sample_random_action())
            action = env.sample_random_action()
            played.append([action, *env.step(action)])
        assert played == wanted


def test_the_global_generator_is_left_alone(env: gem.Env) -> None:
    before = random.getstate()
    random_episode(env, 1)
    assert random.getstate() == before


@pytest.mark.parametrize("num_envs", [1, 7])
def test_the_number_of_parallel_environments_does_not_matter(env_id: str, num_envs: int) -> None:
    slots = [EpisodeRequest(i, env_id, seed=i) for i in range(9)]
    alone = {i: random_episode(gem.make(env_id), i)[1:] for i in range(9)}
    for record in rollout(make_agent("random"), slots, num_envs=num_envs):
        turns = [[turn.action, turn.observation, turn.reward, turn.info] for turn in record.turns]
        wanted = alone.pop(record.index)
        assert turns == [[action, observation, reward, info] for action, observation, reward, *_, info in wanted]
    assert not alone


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_other_processes_give_the_same_episodes(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.engine.golden", "--print"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == golden.digests(golden.FEW_SEEDS, ids.played())
