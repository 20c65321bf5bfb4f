"""Wrappers do one thing each and pass on the rest."""

import pytest

import gem
from gem.check.pictures import offers
from gem.errors import EpisodeOver, InvalidArgument
from gem.wrappers import WRAPPER_FACTORY, EpisodeTrackingWrapper, ObservationWrapper, TimeLimit, get_wrapper_fns, wrap

HARD = "game:GuessTheNumber-v0-hard"


def test_concat_holds_the_history_and_ends_with_the_suffix() -> None:
    env = ObservationWrapper(gem.make(HARD))
    first, info = env.reset(seed=1)
    assert first.endswith(info["suffix"])
    observation, *_ = env.step("I guess \\boxed{1}.")
    lines = observation.splitlines()
    assert lines[:2] == first.splitlines()[:2]
    assert lines[-2:] == ["The secret is higher than 1.", "Enter your guess."]
    assert "I guess" not in observation


def test_the_action_is_part_of_the_history_if_asked() -> None:
    env = ObservationWrapper(gem.make(HARD), include_action=True)
    env.reset(seed=1)
    observation, *_ = env.step("I guess \\boxed{1}.")
    assert "I guess \\boxed{1}.\nThe secret is higher than 1.\n" in observation


def test_a_short_history_keeps_the_instructions() -> None:
    env = ObservationWrapper(gem.make(HARD), max_history_length=1)
    first, _ = env.reset(seed=1)
    env.step("\\boxed{1}")
    observation, *_ = env.step("\\boxed{2}")
    assert observation.startswith(first.splitlines()[0])
    assert "than 1." not in observation
    assert "than 2." in observation
    with pytest.raises(InvalidArgument):
        ObservationWrapper(env, max_history_length=0)


def test_tracking_counts_turns_and_rewards() -> None:
    env = EpisodeTrackingWrapper(gem.make(HARD, max_turns=2))
    _, info = env.reset(seed=1)
    assert (info["step_counter"], info["cumulative_rewards"]) == (0, 0.0)
    env.step("\\boxed{1}")
    _, reward, *_, info = env.step("\\boxed{2}")
    assert (info["step_counter"], info["cumulative_rewards"]) == (2, reward)
    _, info = env.reset(seed=2)
    assert (info["prev_ep_step_counter"], info["prev_ep_cumulative_rewards"]) == (2, reward)


def test_a_time_limit_truncates_and_then_raises() -> None:
    env = TimeLimit(gem.make(HARD), max_turns=2)
    env.reset(seed=1)
    assert env.max_turns == 2
    assert env.step("\\boxed{1}")[3] is False
    observation, _, terminated, truncated, info = env.step("\\boxed{2}")
    assert (terminated, truncated, info["success"]) == (False, True, False)
    assert "turn limit" in observation
    with pytest.raises(EpisodeOver):
        env.step("\\boxed{3}")
    assert TimeLimit(gem.make(HARD), max_turns=100).env.max_turns == 7
    with pytest.raises(InvalidArgument):
        TimeLimit(env, max_turns=0)


@pytest.mark.parametrize(
    "family", ["Minesweeper", "Sudoku", "Wordle", "Hangman", "TowerofHanoi", "WikiGame", "Game2048"]
)
def test_after_a_time_limit_nothing_can_be_acted_on(family: str) -> None:
    env = TimeLimit(gem.make(f"game:{family}-v0-easy"), max_turns=1)
    env.reset(seed=1)
    assert offers(env.view())
    env.step(env.sample_random_action())
    assert not offers(env.view())
    assert env.view()["name"] == env.env.view()["name"]


def test_the_factory_finds_wrappers_by_name() -> None:
    functions = get_wrapper_fns("concat, episode_tracking")
    assert functions == [WRAPPER_FACTORY["concat"], WRAPPER_FACTORY["episode_tracking"]]
    assert get_wrapper_fns("") == []
    with pytest.raises(InvalidArgument, match="Did you mean concat"):
        get_wrapper_fns(["concate"])
    with pytest.raises(InvalidArgument, match="takes no argument 'turns'"):
        wrap(gem.make(HARD), [{"name": "time_limit", "turns": 3}])


def test_attributes_are_read_through_and_stay_current() -> None:
    env = wrap(gem.make(HARD), [{"name": "concat"}, {"name": "episode_tracking"}])
    env.reset(seed=1)
    env.step("\\boxed{1}")
    assert env.guesses == [1]
    assert (env.seats, env.seed, env.turn, env.spec.id) == (1, 1, 1, HARD)
    with pytest.raises(AttributeError):
        _ = env.nothing_of_this_name
