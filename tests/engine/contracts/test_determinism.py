"""The same id, arguments, seed and actions give the same turns, beside whatever they are played."""

import random
from itertools import chain
from typing import Any

import gem
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from tests.engine import ids
from tests.engine.episodes import random_episode


def test_the_largest_seeds_name_episodes_as_well(env_id: str) -> None:
    first, second = gem.make(env_id), gem.make(env_id)
    for seed in (2**53, 2**63 - 1):
        assert random_episode(first, seed) == random_episode(second, seed)


def test_a_seed_names_an_episode_whether_given_to_make_or_to_reset(env_id: str) -> None:
    made, reset = gem.make(env_id, seed=11), gem.make(env_id)
    assert made.reset() == reset.reset(seed=11)
    assert made.seed == reset.seed == 11
    assert made.reset() == reset.reset()  # the next seed follows from the first
    assert made.seed == reset.seed != 11


def test_environments_of_all_kinds_and_the_global_generator_do_not_disturb_one_another() -> None:
    """They are played turn by turn beside one another; who has ended begins anew in the middle of the others."""
    seeds = (0, 1)
    alone = {env_id: [random_episode(gem.make(env_id), seed) for seed in seeds] for env_id in ids.kinds()}
    playing = {env_id: episodes_of(gem.make(env_id), seeds) for env_id in alone}
    beside: dict[str, list[Any]] = {env_id: [] for env_id in alone}
    turn = 0
    while playing:
        turn += 1
        for env_id, turns in list(playing.items()):
            random.seed(turn)
            following = next(turns, None)
            if following is None:
                del playing[env_id]
            else:
                beside[env_id].append(following)
    assert [env_id for env_id, episodes in alone.items() if list(chain(*episodes)) != beside[env_id]] == []


def episodes_of(env: gem.Env, seeds: tuple[int, ...]) -> Any:
    """Turn by turn, what `random_episode` gives for each seed."""
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        yield [None, observation, 0.0, False, False, info]
        over = False
        while not over:
            action = env.sample_random_action()
            step = env.step(action)
            over = step[2] or step[3]
            yield [action, *step]


def test_the_number_of_parallel_environments_does_not_matter(env_id: str) -> None:
    slots = [EpisodeRequest(i, env_id, seed=i) for i in range(5)]
    alone = [random_episode(gem.make(env_id), i)[1:] for i in range(5)]
    expected = [[[turn[0], turn[1], turn[2], turn[5]] for turn in turns] for turns in alone]
    for num_envs in (1, 3):
        found = {
            record.index: [[turn.action, turn.observation, turn.reward, turn.info] for turn in record.turns]
            for record in rollout(make_agent("random"), slots, num_envs=num_envs)
        }
        assert found == dict(enumerate(expected)), num_envs
