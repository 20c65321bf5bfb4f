"""A state is plain JSON, and whoever continues from it sees the same future."""

import copy
import json
import pickle

import pytest

import gem
from gem.errors import InvalidArgument
from gem.wrappers import wrap
from tests.engine.episodes import random_episode, random_turns


def test_the_state_goes_through_json_at_every_turn(env_id: str) -> None:
    env = gem.make(env_id)
    for seed in range(3):
        whole = random_episode(env, seed)
        env.reset(seed=seed)
        for number in range(1, len(whole)):
            other = gem.make(env_id)
            other.set_state(json.loads(json.dumps(env.get_state())))
            assert other.get_state() == env.get_state()
            assert other.view() == env.view()
            assert list(random_turns(other)) == whole[number:]
            assert other.reset() == _reset_later(env_id, seed, whole)
            assert env.step(env.sample_random_action()) == tuple(whole[number][1:])


def _reset_later(env_id: str, seed: int, whole: list[list[object]]) -> tuple[str, gem.core.Info]:
    """The first turn of the episode that follows this one."""
    env = gem.make(env_id)
    assert random_episode(env, seed) == whole
    return env.reset()


def test_a_state_read_twice_is_not_changed_by_the_first_reader(env: gem.Env) -> None:
    env.reset(seed=4)
    state = env.get_state()
    kept = copy.deepcopy(state)
    other = env.spawn()
    other.set_state(state)
    list(random_turns(other))
    assert state == kept


def test_a_spawned_environment_has_the_same_arguments_and_its_own_episode(env: gem.Env) -> None:
    episode = random_episode(env, 2)
    other = env.spawn()
    assert other is not env
    assert other.spec == env.spec
    assert random_episode(other, 2) == episode


def test_a_spawned_environment_goes_on_from_the_same_state(env: gem.Env) -> None:
    env.reset(seed=2)
    other = env.spawn(same_state=True)
    assert list(random_turns(other)) == list(random_turns(env))


def test_spawn_refuses_what_it_does_not_know(env: gem.Env) -> None:
    with pytest.raises(InvalidArgument, match="takes no argument 'colour'"):
        env.spawn(colour="red")
    env.reset(seed=1)
    with pytest.raises(InvalidArgument, match="not both"):
        env.spawn(same_state=True, seed=3)


@pytest.mark.parametrize("through", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_and_pickles_go_on_alike(env: gem.Env, through) -> None:
    env.reset(seed=6)
    for wrapped in (env, wrap(env, [{"name": "time_limit", "max_turns": 3}, {"name": "episode_tracking"}])):
        other = through(wrapped)
        assert other.get_state() == wrapped.get_state()
        assert list(random_turns(other)) == list(random_turns(through(wrapped)))


def test_wrappers_are_part_of_the_state(env: gem.Env) -> None:
    described = [
        {"name": "time_limit", "max_turns": 4},
        {"name": "concat_with_action", "max_history_length": 2},
        {"name": "episode_tracking"},
    ]
    wrapped = wrap(env, described)
    observation, info = wrapped.reset(seed=3)
    over = False
    while not over:
        other = wrapped.spawn(same_state=True)
        action = wrapped.sample_random_action()
        step = wrapped.step(action)
        assert other.step(action) == step
        over = step[2] or step[3]
    assert wrapped.unwrapped is env
    assert wrapped.spec is env.spec
    assert wrapped.max_turns == min(4, env.max_turns)
