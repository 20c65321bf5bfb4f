"""How every episode begins, goes on and ends."""

from typing import Any

import pytest

import gem
from gem.errors import EpisodeOver, InvalidArgument
from tests.engine.episodes import random_episode, random_turns


def test_the_info_says_at_the_end_whether_it_was_solved(env: gem.Env) -> None:
    for seed in range(20):
        first, *turns = random_episode(env, seed)
        assert "success" not in first[5]
        for _, observation, reward, terminated, truncated, info in turns:
            assert isinstance(observation, str)
            assert observation
            assert isinstance(reward, float)
            assert not (terminated and truncated)
            assert ("success" in info) == (terminated or truncated)
        assert isinstance(turns[-1][5]["success"], bool)


def test_the_last_turn_asks_for_no_other_action(env: gem.Env) -> None:
    for seed in range(5):
        *earlier, last = random_episode(env, seed)
        asked = {suffix.rpartition("\n")[2] for turn in earlier for suffix in suffixes(turn[5])} - {""}
        if env.seats > 1:  # most texts are for seats that are not asked
            asked = {line for line in asked if line.endswith("?")}
        for suffix in suffixes(last[5]):
            assert not suffix.endswith(("?", "\n"))
            assert not asked & set(suffix.splitlines())


def suffixes(info: dict[str, Any]) -> list[str]:
    """What agents read last, of every seat."""
    return [str(own.get("suffix", "")) for own in info.get("seats", [info])]


def test_random_actions_are_understood(env: gem.Env) -> None:
    for seed in range(20):
        assert all(info.get("error") != "format" for *_, info in random_episode(env, seed))


def test_random_actions_differ(env: gem.Env) -> None:
    env.reset(seed=1)
    assert len({env.sample_random_action() for _ in range(50)}) > 1


def test_asking_for_random_actions_changes_nothing(env: gem.Env) -> None:
    expected = random_episode(env, 8)
    env.reset(seed=8)
    for action, *rest in expected[1:]:
        for _ in range(3):
            env.sample_random_action()
        assert env.step(action) == tuple(rest)


def test_the_turn_limit_truncates_and_nothing_else_does(env: gem.Env) -> None:
    for seed in range(20):
        turns = random_episode(env, seed)[1:]
        assert 1 <= len(turns) <= env.max_turns
        if turns[-1][4]:
            assert len(turns) == env.max_turns
            assert turns[-1][5]["success"] is False


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


def test_stepping_before_the_first_reset_raises(env: gem.Env) -> None:
    with pytest.raises(EpisodeOver, match=r"reset\(\)"):
        env.step("\\boxed{1}")
    with pytest.raises(EpisodeOver, match=r"reset\(\)"):
        env.sample_random_action()


def test_stepping_after_the_end_raises(env: gem.Env) -> None:
    random_episode(env, 0)
    with pytest.raises(EpisodeOver, match=r"reset\(\)"):
        env.step("\\boxed{1}")
    env.reset(seed=1)
    assert list(random_turns(env))


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "7", True, float("nan")])
def test_a_seed_that_names_no_episode_is_refused(env_id: str, seed: object) -> None:
    with pytest.raises(InvalidArgument, match="A seed is an integer"):
        gem.make(env_id, seed=seed)
    with pytest.raises(InvalidArgument, match="A seed is an integer"):
        gem.make(env_id).reset(seed=seed)  # type: ignore[arg-type]


def test_an_unknown_argument_is_refused_and_the_nearest_named(env_id: str) -> None:
    with pytest.raises(InvalidArgument, match="Did you mean seed"):
        gem.make(env_id, sed=3)
    if gem.spec(env_id).turns == "multi":
        with pytest.raises(InvalidArgument, match="Did you mean max_turns"):
            gem.make(env_id, max_turn=3)


def test_a_turn_limit_below_one_is_refused(env_id: str) -> None:
    if gem.spec(env_id).turns == "single":
        pytest.skip("one turn is no limit")
    with pytest.raises(InvalidArgument):
        gem.make(env_id, max_turns=0)


def test_closing_twice_is_harmless(env: gem.Env) -> None:
    env.reset(seed=1)
    env.close()
    env.close()
    assert env.seed == 1
