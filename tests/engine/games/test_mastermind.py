"""Mastermind: pegs, milestones, and what a guess may be."""

import itertools
from collections import Counter

import pytest

import gem
from gem.envs.games.mastermind import Mastermind, count_pegs
from gem.errors import InvalidArgument


def make(code: list[int], **arguments: object) -> Mastermind:
    env = gem.make("game:Mastermind-v0", **{"code_length": len(code), "num_numbers": 6, "max_turns": 10, **arguments})
    env.reset(seed=0)
    env.set_state({**env.get_state(), "code": code})
    assert isinstance(env.unwrapped, Mastermind)
    return env.unwrapped


def test_pegs_are_those_of_the_definition() -> None:
    for code, guess in itertools.product(itertools.product((1, 2, 3), repeat=3), repeat=2):
        black = sum(a == b for a, b in zip(code, guess, strict=True))
        common = (Counter(code) & Counter(guess)).total()
        assert count_pegs(guess, code) == (black, common - black)


def test_black_pegs_beyond_the_best_earn_their_share() -> None:
    env = make([1, 2, 3, 4])
    rewards = [env.step(f"\\boxed{{{guess}}}")[1] for guess in ("1 2 5 6", "1 3 2 4", "1 2 3 5", "1 2 3 4")]
    assert rewards == [0.5, 0, 0.25, 0.25]
    assert env.solved


@pytest.mark.parametrize(
    ("guess", "words"),
    [("1 2", "has 2"), ("1 2 3 7", "others"), ("0 1 2 3", "others"), ("9" * 5000, "others"), ("3 4 5 6", "before")],
)
def test_guesses_that_tell_nothing_use_up_a_turn(guess: str, words: str) -> None:
    env = make([1, 2, 3, 4])
    env.step("\\boxed{3 4 5 6}")
    observation, reward, terminated, truncated, info = env.step(f"\\boxed{{{guess}}}")
    assert words in observation
    assert (reward, terminated, truncated, info["error"]) == (0, False, False, "rule")
    assert env.turn == 2


def test_a_guess_may_repeat_digits_though_the_code_does_not() -> None:
    assert "1 black and 0 white" in make([1, 2, 3, 4]).step("\\boxed{1  1\n1 1}")[0]


def test_codes_have_different_digits_unless_asked_otherwise() -> None:
    for repeats in (False, True):
        env = gem.make("game:Mastermind-v0-hard", duplicate_numbers=repeats).unwrapped
        assert isinstance(env, Mastermind)
        codes = [env.code for seed in range(100) if env.reset(seed=seed)]
        assert any(len(set(code)) < 4 for code in codes) == repeats


@pytest.mark.parametrize("arguments", [{"code_length": 5, "num_numbers": 4}, {"code_length": 0}, {"num_numbers": 99}])
def test_impossible_sizes_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match="must be from"):
        gem.make("game:Mastermind-v0", **arguments)
