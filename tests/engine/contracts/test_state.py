"""Whoever continues from a state, a copy or a pickle sees the same future, beside what `gemweb check` tries."""

import base64
import copy
import json
import pickle
import random
import struct

import pytest

import gem
from gem.errors import InvalidArgument
from gem.rng import pack_generator, unpack_generator
from gem.wrappers import wrap
from tests.engine.episodes import random_episode, random_turns


def test_both_continue_alike_into_the_next_episode(env: gem.Env) -> None:
    whole = random_episode(env, 5)
    for before in sorted({min(before, len(whole) - 2) for before in (0, 2)}):
        env.reset(seed=5)
        for turn in whole[1 : before + 1]:
            env.step(turn[0])
        other = env.spawn()
        assert other.spec == env.spec
        other.set_state(json.loads(json.dumps(env.get_state())))
        assert other.get_state() == env.get_state()
        assert list(random_turns(other)) == list(random_turns(env)) == whole[before + 1 :]
        assert other.reset() == env.reset()
        assert list(random_turns(other)) == list(random_turns(env))


def test_spawn_refuses_what_it_does_not_know(env: gem.Env) -> None:
    with pytest.raises(InvalidArgument, match="takes no argument 'colour'"):
        env.spawn(colour="red")
    env.reset(seed=1)
    with pytest.raises(InvalidArgument, match="not both"):
        env.spawn(same_state=True, seed=3)


def test_copies_and_pickles_go_on_alike(env: gem.Env) -> None:
    env.reset(seed=6)
    for through in (copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))):
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


def test_states_of_earlier_versions_name_the_generator_in_base_85() -> None:
    rng = random.Random(7)
    kept = base64.b85encode(struct.pack("<625I", *rng.getstate()[1])).decode()
    assert unpack_generator(kept).random() == unpack_generator(pack_generator(rng)).random() == rng.random()
