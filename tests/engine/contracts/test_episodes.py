"""How every episode goes on and ends, beside what `gemweb check` tries: what is said, understood and refused."""

from typing import Any

import pytest

import gem
from gem.errors import InvalidArgument
from tests.engine.episodes import random_episode

NO_SEEDS = (-1, 2**63, 1.5, "7", True, float("nan"))


def test_every_turn_says_something_and_the_last_one_asks_for_no_other_action(env: gem.Env) -> None:
    for seed in range(5):
        episode = random_episode(env, seed)
        assert all(isinstance(turn[1], str) and turn[1] for turn in episode[1:])
        assert all(isinstance(turn[2], float) for turn in episode[1:])
        *earlier, last = episode
        asked = {suffix.rpartition("\n")[2] for turn in earlier for suffix in suffixes(turn[5])} - {""}
        if env.seats > 1:  # most texts are for seats that are not asked
            asked = {line for line in asked if line.endswith("?")}
        for suffix in suffixes(last[5]):
            assert not suffix.endswith(("?", "\n"))
            assert not asked & set(suffix.splitlines())


def suffixes(info: dict[str, Any]) -> list[str]:
    """What agents read last, of every seat."""
    return [str(own.get("suffix", "")) for own in info.get("seats", [info])]


def test_random_actions_differ(env: gem.Env) -> None:
    env.reset(seed=1)
    assert len({env.sample_random_action() for _ in range(50)}) > 1


def test_skipped_random_actions_are_those_that_would_have_been_drawn(env: gem.Env) -> None:
    env.reset(seed=1)
    other = env.spawn()
    other.reset(seed=1)
    drawn = [env.sample_random_action() for _ in range(4)]
    other.skip_random_actions(3)
    assert other.sample_random_action() == drawn[-1]


def test_an_action_that_is_not_understood_ends_the_episode(env_id: str, env: gem.Env) -> None:
    if gem.spec(env_id).category not in ("game", "duel", "dialogue"):
        pytest.skip("others have more than one form of action")
    penalty, *_ = getattr(env, "forfeit", (-0.1,))  # where there are several seats, as much as a loss
    for action in ("", "I do not know.", "\\boxed{}", "\\boxed{?!}", "boxed{1}", "\\boxed{\x00}"):
        env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step(action)
        assert (reward, terminated, truncated) == (penalty, True, False)
        assert info["error"] == "format"
        assert info["success"] is False
        assert "\\boxed{" in observation


def test_the_last_action_in_a_text_counts(env: gem.Env) -> None:
    env.reset(seed=3)
    first, last = env.sample_random_action(), env.sample_random_action()
    other = env.spawn(same_state=True)
    assert env.step(f"First I thought {first}, but {last} is better.") == other.step(last)


def test_a_seed_that_names_no_episode_is_refused(env_id: str) -> None:
    for seed in NO_SEEDS:
        with pytest.raises(InvalidArgument, match="A seed is an integer"):
            gem.make(env_id, seed=seed)
        with pytest.raises(InvalidArgument, match="A seed is an integer"):
            gem.make(env_id).reset(seed=seed)  # type: ignore[arg-type]


def test_an_argument_that_cannot_be_is_refused_and_the_nearest_named(env_id: str) -> None:
    with pytest.raises(InvalidArgument, match="Did you mean seed"):
        gem.make(env_id, sed=3)
    if gem.spec(env_id).turns == "multi":
        with pytest.raises(InvalidArgument, match="Did you mean max_turns"):
            gem.make(env_id, max_turn=3)
        with pytest.raises(InvalidArgument):
            gem.make(env_id, max_turns=0)
