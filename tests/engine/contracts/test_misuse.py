"""What is no action, no state and no episode is refused in a sentence, and the episode goes on as if nothing was."""

import json

import pytest

import gem
from gem.errors import EpisodeOver, InvalidArgument
from tests.engine.episodes import random_episode

NO_ACTIONS = [None, 5, b"\\boxed{1}", ["\\boxed{1}"], {"action": "up"}]
NO_STATES = [None, {}, {"seed": 1}, [], "x", {"env": {}, "wrapper": {}}]
ODD_TEXTS = ["", "\0", "\ud800", "\u202e\\boxed{1}", "\\boxed{\u0661 \u0662}", "\\boxed{" * 5000, "}" * 50_000]
ODD_TEXTS += ["\U0001f600" * 5000, "\\boxed{" + "9" * 5000 + "}", "<answer>" * 5000, "```python\n" * 1000]


def test_what_is_no_text_is_no_action(env: gem.Env) -> None:
    whole = random_episode(env, 3)
    env.reset(seed=3)
    for action in NO_ACTIONS:
        with pytest.raises(InvalidArgument, match=f"An action must be a string, not {type(action).__name__}"):
            env.step(action)  # type: ignore[arg-type]
    assert env.step(whole[1][0]) == tuple(whole[1][1:])


def test_any_text_is_answered(env: gem.Env) -> None:
    for text in ODD_TEXTS:
        env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step(text)
        json.dumps([observation, reward, info], allow_nan=False)
        assert not (terminated and truncated)


def test_what_is_no_state_is_refused(env: gem.Env) -> None:
    env.reset(seed=1)
    for state in NO_STATES:
        with pytest.raises(InvalidArgument, match="This is not a state of"):
            env.set_state(state)  # type: ignore[arg-type]
    assert random_episode(env, 2) == random_episode(env.spawn(), 2)


def test_nothing_is_asked_of_an_episode_that_has_not_begun(env: gem.Env) -> None:
    with pytest.raises(EpisodeOver, match=r"call reset\(\)"):
        env.step("\\boxed{1}")
    assert env.sample_random_action()
    try:
        assert env.view()["name"]
    except EpisodeOver:
        env.reset(seed=1)
        assert env.view()["name"]
    env.close()
    env.close()
