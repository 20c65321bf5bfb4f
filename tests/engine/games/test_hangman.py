"""Hangman: letters and words, and that showing all letters wins."""

import pytest

import gem
from gem.data import words
from gem.envs.games.hangman import Hangman
from gem.errors import InvalidArgument


def make(secret: str, max_turns: int = 10) -> Hangman:
    env = gem.make("game:Hangman-v0", word_length=len(secret), max_turns=max_turns)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "secret": secret})
    assert isinstance(env.unwrapped, Hangman)
    return env.unwrapped


def play(env: Hangman, *guesses: str) -> list[float]:
    return [env.step(f"\\boxed{{{guess}}}")[1] for guess in guesses]


def test_showing_all_letters_wins_and_earns_the_rest() -> None:
    env = make("TREE")
    assert play(env, "e", "X", "T", "r") == [0.25, 0, 0.125, 0.625]
    assert env.solved


def test_the_word_earns_what_is_not_yet_shown() -> None:
    env = make("TREE")
    assert play(env, "e", "tree") == [0.25, 0.75]
    assert env.solved
    assert env.view()["slots"][0]["text"] == "T"


@pytest.mark.parametrize(("guess", "said"), [("e", "before"), ("TRE", "3"), ("four", "before")])
def test_guesses_that_tell_nothing_use_up_a_turn(guess: str, said: str) -> None:
    env = make("TREE")
    play(env, "E", "FOUR")
    observation, reward, _, _, info = env.step(f"\\boxed{{{guess}}}")
    assert said in observation
    assert (reward, info["error"], env.turn) == (0, "rule", 3)


def test_the_gallows_are_complete_only_when_it_is_lost() -> None:
    env = make("TREE", max_turns=3)
    play(env, "A", "B")
    assert env.view()["gallows"]["stage"] == 4
    play(env, "C")
    assert env.view()["gallows"] == {"stage": 6, "label": "3 wrong guesses, 0 turns left"}


def test_hardcore_draws_from_the_large_list() -> None:
    env = gem.make("game:Hangman-v0", word_length=7, hardcore=True).unwrapped
    assert isinstance(env, Hangman)
    secrets = [env.secret.lower() for seed in range(50) if env.reset(seed=seed)]
    assert set(secrets) <= set(words.all_words(7, 7))
    assert not set(secrets) <= set(words.common(7))
    assert env.data_hash == words.WORDS_HASH


def test_a_length_without_words_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="from 3 to 12"):
        gem.make("game:Hangman-v0", word_length=13)
