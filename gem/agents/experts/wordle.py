"""Wordle: of the words that fit all marks so far, the guess whose marks have the highest entropy.

The list of words is public; the secret is not looked at. A word that is on none of our lists is found by its letters.
"""

from __future__ import annotations

from functools import lru_cache

from gem.agents.agent import Decision
from gem.agents.experts.partition import most_telling
from gem.data import words
from gem.envs.games.keyboard import ROWS
from gem.envs.games.wordle import GREEN, Wordle, mark

MOST_ANSWERS = 200_000
LETTERS = "EARIOTNSLCUDPMHGBFYWKVXZJQ"
"""From the most to the least frequent in English."""
assert sorted(LETTERS) == sorted("".join(ROWS))

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
    """Any letters that fit the marks: the frequent ones first."""
    word = ""
    stack = list(LETTERS[::-1])
    while stack:
        word = stack.pop()
        if any(not _may_fit(word, guess, marks) for guess, marks in history):
            continue
        if len(word) == length:
            break
        stack += [word + letter for letter in LETTERS[::-1]]
    return word.ljust(length, "E")


def _may_fit(beginning: str, guess: str, marks: str) -> bool:
    """Whether a word that begins so can get these marks; a whole word: whether it gets them."""
    if len(beginning) == len(guess):
        return mark(guess, beginning) == marks
    return all((letter == asked) == (got == GREEN) for letter, asked, got in zip(beginning, guess, marks, strict=False))
