"""Wordle: of the words that fit all marks so far, the guess whose marks have the highest entropy.

The list of words is public; the secret is not looked at. A word that is on none of our lists is found by its letters.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice, product

from gem.agents.agent import Decision
from gem.agents.experts.partition import most_telling
from gem.data import words
from gem.envs.games.wordle import GREEN, GREY, Wordle, mark

MOST_ANSWERS = 200_000
MOST_SPELLINGS = 2_000
LETTERS = "EARIOTNSLCUDPMHGBFYWKVXZJQ"
"""From the most to the least frequent in English."""

History = tuple[tuple[str, str], ...]


def guess_word(env: Wordle) -> Decision:
    """The most telling guess."""
    guess, note = _decide(env.word_length, tuple(env.guesses.items()))
    return Decision(f"\\boxed{{{guess}}}", note)


@lru_cache(maxsize=8192)
def _decide(length: int, history: History) -> tuple[str, str]:
    common = _upper(words.common(length))
    fitting = _fit(common, history) or _fit(_upper(words.all_words(length, length)), history)
    if not fitting:
        return _spell(length, history), "No word of the lists fits, so I look for its letters."
    if len(fitting) == 1:
        return fitting[0], "Only this word fits the marks."
    if len(fitting) == 2:
        return fitting[0], f"{fitting[0]} and {fitting[1]} fit the marks."
    guess, split = most_telling((*fitting, *common), fitting, mark, MOST_ANSWERS)
    return (
        guess,
        f"{len(fitting)} words fit the marks; {guess} parts them into {split.answers}, the largest {split.largest}.",
    )


@lru_cache(maxsize=32)
def _upper(lower: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.upper() for word in lower)


def _fit(candidates: tuple[str, ...], history: History) -> tuple[str, ...]:
    return tuple(word for word in candidates if all(mark(guess, word) == marks for guess, marks in history))


def _spell(length: int, history: History) -> str:
    """Any letters that fit the marks, the frequent ones first; after `MOST_SPELLINGS` tries the last that was tried."""
    known = [[(guess[place], marks[place]) for guess, marks in history] for place in range(length)]
    absent = {
        letter
        for guess, marks in history
        for letter in guess
        if all(got == GREY for other, got in zip(guess, marks, strict=True) if other == letter)
    }
    choices = []
    for answers in known:
        right = [letter for letter, got in answers if got == GREEN]
        wrong = absent.union(letter for letter, got in answers if got != GREEN)
        choices.append(right[:1] or [letter for letter in LETTERS if letter not in wrong] or [LETTERS[0]])
    word = ""
    for letters in islice(product(*choices), MOST_SPELLINGS):
        word = "".join(letters)
        if _fit((word,), history):
            break
    return word
