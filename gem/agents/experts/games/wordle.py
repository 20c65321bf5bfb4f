"""The expert for Wordle: it makes the guess whose marks have the highest entropy over the words that fit so far.

The list of words is public, and the solver never reads the secret. A secret that is on none of our lists is found by
its letters.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, product

from gem.agents.agent import Decision
from gem.agents.experts.games.partition import most_informative_guess
from gem.data import words
from gem.envs.games.wordle import GREEN, GREY, Wordle, mark

MAX_ANSWERS = 200_000
"""How many pairs of a guess and a word are compared for one decision."""
MAX_SPELLINGS = 2_000
"""How many combinations of letters are tried when no word of the lists fits."""
LETTERS = "EARIOTNSLCUDPMHGBFYWKVXZJQ"
"""The letters of English, the most frequent first."""

History = tuple[tuple[str, str], ...]


def guess_word(env: Wordle) -> Decision:
    """Make the guess whose marks tell the most."""
    guess, note = _decide(env.word_length, tuple(env.guesses.items()))
    return Decision(f"\\boxed{{{guess}}}", note)


@lru_cache(maxsize=8192)
def _decide(length: int, history: History) -> tuple[str, str]:
    common = _upper_case(words.common(length))
    candidates = _consistent_words(common, history) or _consistent_words(
        _upper_case(words.all_words(length, length)), history
    )
    if not candidates:
        return _spell_guess(length, history), "No word of the lists fits, so I look for its letters."
    if len(candidates) == 1:
        return candidates[0], "Only this word fits the marks."
    if len(candidates) == 2:
        return candidates[0], f"{candidates[0]} and {candidates[1]} fit the marks."
    guess, split = most_informative_guess((*candidates, *common), candidates, mark, MAX_ANSWERS)
    return (
        guess,
        f"{len(candidates)} words fit the marks; {guess} parts them into {split.num_answers}, "
        f"the largest {split.largest_group}.",
    )


@lru_cache(maxsize=32)
def _upper_case(lower_case_words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.upper() for word in lower_case_words)


def _consistent_words(candidates: tuple[str, ...], history: History) -> tuple[str, ...]:
    return tuple(word for word in candidates if all(mark(guess, word) == marks for guess, marks in history))


def _spell_guess(length: int, history: History) -> str:
    """Letters that fit the marks, frequent letters first.

    If none of the first `MAX_SPELLINGS` combinations fits, the last one tried is returned.
    """
    marks_by_place = [[(guess[index], marks[index]) for guess, marks in history] for index in range(length)]
    absent_letters = {
        letter
        for guess, marks in history
        for letter in guess
        if all(letter_mark == GREY for guessed, letter_mark in zip(guess, marks, strict=True) if guessed == letter)
    }
    choices = []
    for place_marks in marks_by_place:
        green_letters = [letter for letter, letter_mark in place_marks if letter_mark == GREEN]
        excluded_letters = absent_letters.union(letter for letter, letter_mark in place_marks if letter_mark != GREEN)
        choices.append(
            green_letters[:1] or [letter for letter in LETTERS if letter not in excluded_letters] or [LETTERS[0]]
        )
    word = ""
    for letters in islice(product(*choices), MAX_SPELLINGS):
        word = "".join(letters)
        if _consistent_words((word,), history):
            break
    return word
