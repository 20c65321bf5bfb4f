"""A state is plain JSON, and whoever continues from it sees the same future."""

import copy
import json
import pickle

import pytest

import gem
from gem.errors import InvalidArgument
from gem.wrappers import wrap
from tests.engine.episodes import random_episode, random_turns


def test_the_state_goes_through_json_at_every_turn(env: gem.Env) -> None:
    other = env.spawn()
    for seed in range(2):
        turns = random_episode(env, seed)[1:]
        env.reset(seed=seed)
        for turn in turns:
            state = json.loads(json.dumps(env.get_state()))
            other.set_state(state)
            assert other.get_state() == env.get_state()
            assert other.view() == env.view()
            action = other.sample_random_action()
            assert action == turn[0]
            assert other.step(action) == env.step(action) == tuple(turn[1:])


@pytest.mark.parametrize("turns_before", [0, 1, 2])
def test_both_continue_alike_into_the_next_episode(env: gem.Env, turns_before: int) -> None:
    whole = random_episode(env, 5)
    turns_before = min(turns_before, len(whole) - 2)
    env.reset(seed=5)
    for turn in whole[1 : turns_before + 1]:
        env.step(turn[0])
    other = env.spawn()
    other.set_state(json.loads(json.dumps(env.get_state())))
    assert list(random_turns(other)) == list(random_turns(env)) == whole[turns_before + 1 :]
    assert other.reset() == env.reset()
    assert list(random_turns(other)) == list(random_turns(env))


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
    wrapped.reset(seed=3)
    over = False
    while not over:
        other = wrapped.spawn(same_state=True)
        action = wrapped.sample_random_action()
        step = wrapped.step(action)
        assert other.step(action) == step
        over = step[2] or step[3]
    assert wrapped.unwrapped is env.unwrapped
    assert wrapped.spec is env.spec
    assert wrapped.max_turns == min(4, env.max_turns)
