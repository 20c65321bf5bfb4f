"""Wordle: marks, milestones, and what a guess may be."""

import pytest

import gem
from gem.data import words
from gem.envs.games.wordle import Wordle, mark
from gem.errors import InvalidArgument


def make(secret: str) -> Wordle:
    env = gem.make("game:Wordle-v0", word_length=len(secret), max_turns=10)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "secret": secret})
    assert isinstance(env.unwrapped, Wordle)
    return env.unwrapped


@pytest.mark.parametrize(
    ("guess", "secret", "marks"),
    [
        ("PLANT", "PLANT", "GGGGG"),
        ("HELLO", "WORLD", "XXXGY"),  # the one L of the secret answers the green one
        ("LLAMA", "WORLD", "YXXXX"),
        ("EERIE", "THERE", "YXYXG"),
        ("ABBEY", "BABES", "YYGGX"),
    ],
)
def test_a_letter_of_the_secret_answers_one_letter_of_the_guess(guess: str, secret: str, marks: str) -> None:
    assert mark(guess, secret) == marks


def test_places_that_are_green_for_the_first_time_earn_their_share() -> None:
    env = make("PLANT")
    rewards = [env.step(f"\\boxed{{{guess}}}")[1] for guess in ("plane", "PLATE", "grant", "p l a n t")]
    assert rewards == pytest.approx([0.4, 0, 0.1, 0.5])
    assert env.solved


@pytest.mark.parametrize(("guess", "words_of"), [("tree", "4"), ("crane", "before")])
def test_guesses_that_tell_nothing_use_up_a_turn(guess: str, words_of: str) -> None:
    env = make("PLANT")
    env.step("\\boxed{CRANE}")
    observation, reward, _, _, info = env.step(f"\\boxed{{{guess}}}")
    assert words_of in observation
    assert (reward, info["error"], env.turn) == (0, "rule", 2)


def test_any_letters_may_be_guessed() -> None:
    assert "error" not in make("PLANT").step("\\boxed{xzxzx}")[4]


def test_secrets_are_common_words_of_the_length_asked_for() -> None:
    env = gem.make("game:Wordle-v0-random").unwrapped
    assert isinstance(env, Wordle)
    lengths = set()
    for seed in range(60):
        env.reset(seed=seed)
        assert env.secret.lower() in words.common(env.word_length)
        assert env.max_turns == 5 * env.word_length
        lengths.add(env.word_length)
    assert lengths == {3, 4, 5}


def test_the_word_is_shown_once_the_episode_is_lost() -> None:
    env = make("PLANT")
    assert "PLANT" not in str(env.view())
    env.step("no guess")
    assert "PLANT" in str(env.view())


def test_a_length_without_words_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="from 3 to 12"):
        gem.make("game:Wordle-v0", word_length=2)
