"""The expert for Hangman: its guess maximizes how many of the words that fit can be found within the turns left.

As long as more words fit than there are turns, a search to the end of the episode compares the few letters with the
highest entropy. Once no more words fit than there are turns, every word can be found, and the letter with the highest
entropy is the fastest way. The list of words is public, and the solver never reads the secret. A secret that is on
none of our lists is found by the frequency of letters.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache

from gem.agents.agent import Decision
from gem.agents.experts.games.partition import entropy
from gem.data import words
from gem.envs.games.hangman import ALPHABET, HIDDEN, Hangman

LETTERS = "EARIOTNSLCUDPMHGBFYWKVXZJQ"
"""The letters of English, the most frequent first."""
SEARCH_WIDTH = 2
"""How many letters the search compares in each turn. With four it finds no more words."""
MAX_SEARCHED_WORDS = 100
"""If more words fit, the letter with the highest entropy is guessed without a comparison."""

Words = tuple[str, ...]


def guess_letter_or_word(env: Hangman) -> Decision:
    """Make the guess after which the most of the words that fit can still be found."""
    visible, turns_left = "".join(env.visible_letters), env.max_turns - env.turn
    candidates = _matching_words(env.possible_words(), visible, env.letters, env.wrong_words)
    if not candidates:
        every_word = words.all_words(env.word_length, env.word_length)
        candidates = _matching_words(every_word, visible, env.letters, env.wrong_words)
    if not candidates:
        letter = next((letter for letter in LETTERS if letter not in env.letters), LETTERS[0])
        return Decision(f"\\boxed{{{letter}}}", f"No word of the lists fits; {letter} is the most frequent one left.")
    guess, num_found = _plan_guess(candidates, turns_left)
    return Decision(f"\\boxed{{{guess}}}", _explain(guess, candidates, num_found, turns_left))


def _explain(guess: str, candidates: Words, num_found: int, turns_left: int) -> str:
    if len(candidates) == 1:
        return "Only this word fits."
    if len(guess) > 1:
        return f"{len(candidates)} words fit, and this is one of them."
    num_with_letter = sum(guess in word for word in candidates)
    note = f"{len(candidates)} words fit; {num_with_letter} of them have the letter {guess}."
    if num_found < len(candidates):
        note += f" In {turns_left} turns, {num_found} of them can be found."
    return note


@lru_cache(maxsize=65536)
def _plan_guess(words: Words, turns_left: int) -> tuple[str, int]:
    """The best guess, and how many of the words the search finds within `turns_left` turns."""
    if len(words) <= 2 or turns_left <= 1:
        return words[0], min(len(words), max(turns_left, 0))
    groups = {letter: _split_by_letter(words, letter) for letter in ALPHABET if any(letter in word for word in words)}
    letters = sorted(groups, key=lambda letter: -round(entropy(list(map(len, groups[letter]))), 6))
    if len(words) <= turns_left:
        return letters[0], len(words)  # the letter splits the words, so each group again has enough turns
    best, most_found = "", 0
    for letter in letters[: SEARCH_WIDTH if len(words) <= MAX_SEARCHED_WORDS else 1]:
        num_found = sum(_plan_guess(group, turns_left - 1)[1] for group in groups[letter])
        if num_found > most_found:
            best, most_found = letter, num_found
        if num_found == len(words):
            return best, most_found
    if len(words) <= MAX_SEARCHED_WORDS:
        num_found = 1 + _plan_guess(words[1:], turns_left - 1)[1]
        if num_found > most_found:
            return words[0], num_found
    return best, most_found


def _split_by_letter(candidates: Words, letter: str) -> list[Words]:
    """The words, grouped by the places in which guessing the letter would reveal it."""
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for word in candidates:
        groups[tuple(index for index, word_letter in enumerate(word) if word_letter == letter)].append(word)
    return [tuple(group) for group in groups.values()]


def _matching_words(candidates: Words, visible: str, letters: str, wrong_words: list[str]) -> Words:
    """The words that agree with the visible letters, the letters guessed and the wrong words."""
    return tuple(
        word
        for word in map(str.upper, candidates)
        if word not in wrong_words
        and all(
            symbol == letter if symbol != HIDDEN else letter not in letters
            for symbol, letter in zip(visible, word, strict=True)
        )
    )
