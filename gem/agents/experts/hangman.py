"""Hangman: a letter or a word, so that the most of the words that fit would be found within the turns left.

As long as more words fit than there are turns, the few most telling letters are tried out in thought to the end;
after that every word is found, and the letter whose answer tells the most is the quickest. The list of words is
public; the secret is not looked at. A word that is on none of our lists is found by the frequency of letters.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from gem.agents.agent import Decision
from gem.agents.experts.partition import entropy
from gem.data import words
from gem.envs.games.hangman import ALPHABET, HIDDEN, Hangman

LETTERS = "EARIOTNSLCUDPMHGBFYWKVXZJQ"
"""From the most to the least frequent in English."""
WIDTH = 2
"""So many letters are tried out; four find no word more."""
MOST_TRIED_WORDS = 100
"""Of more words, the most telling letter is good enough."""

Words = tuple[str, ...]


def guess_letter_or_word(env: Hangman) -> Decision:
    """The guess after which the most words would be found."""
    visible, turns = "".join(env.visible_letters), env.max_turns - env.turn
    fitting = _fit(env.possible_words(), visible, env.letters, env.wrong_words)
    if not fitting:
        every_word = words.all_words(env.word_length, env.word_length)
        fitting = _fit(every_word, visible, env.letters, env.wrong_words)
    if not fitting:
        letter = next((letter for letter in LETTERS if letter not in env.letters), LETTERS[0])
        return Decision(f"\\boxed{{{letter}}}", f"No word of the lists fits; {letter} is the most frequent one left.")
    guess, found = _plan(fitting, turns)
    return Decision(f"\\boxed{{{guess}}}", _say(guess, fitting, found, turns))


def _say(guess: str, fitting: Words, found: int, turns: int) -> str:
    if len(fitting) == 1:
        return "Only this word fits."
    if len(guess) > 1:
        return f"{len(fitting)} words fit, and this is one of them."
    having = sum(guess in word for word in fitting)
    note = f"{len(fitting)} words fit; {having} of them have the letter {guess}."
    if found < len(fitting):
        note += f" In {turns} turns, {found} of them can be found."
    return note


@lru_cache(maxsize=65536)
def _plan(fitting: Words, turns: int) -> tuple[str, int]:
    """The best guess, and how many of the words are found within `turns`, if all guesses are the best."""
    if len(fitting) <= 2 or turns <= 1:
        return fitting[0], min(len(fitting), max(turns, 0))
    parts = {letter: _parts(fitting, letter) for letter in ALPHABET if any(letter in word for word in fitting)}
    letters = sorted(parts, key=lambda letter: -round(entropy(list(map(len, parts[letter]))), 6))
    if len(fitting) <= turns:
        return letters[0], len(fitting)  # the letter parts them, so each part is again within its turns
    best, most = "", 0
    for letter in letters[: WIDTH if len(fitting) <= MOST_TRIED_WORDS else 1]:
        found = sum(_plan(part, turns - 1)[1] for part in parts[letter])
        if found > most:
            best, most = letter, found
        if found == len(fitting):
            return best, most
    if len(fitting) <= MOST_TRIED_WORDS:
        found = 1 + _plan(fitting[1:], turns - 1)[1]
        if found > most:
            return fitting[0], found
    return best, most


def _parts(fitting: Words, letter: str) -> list[Words]:
    """The words by what guessing the letter would show."""
    parts: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for word in fitting:
        parts[tuple(place for place, other in enumerate(word) if other == letter)].append(word)
    return [tuple(part) for part in parts.values()]


def _fit(listed: Words, shown: str, letters: str, wrong_words: list[str]) -> Words:
    """The words that would look like `shown` after `letters`."""
    return tuple(
        word
        for word in map(str.upper, listed)
        if word not in wrong_words
        and all(
            seen == letter if seen != HIDDEN else letter not in letters
            for seen, letter in zip(shown, word, strict=True)
        )
    )
