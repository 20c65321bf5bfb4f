"""Crosswords: the clue first, then the pattern of letters.

The dictionary of clues is public, and this solver knows it as a person who solves crosswords knows a lexicon. A clue
it knows gives the word; for one it does not know, it takes the words of the dictionary that fit the letters on the
board and writes the letter that most of them have.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from gem.agents.agent import Decision
from gem.data.clues import clues
from gem.envs.games.crosswords import UNKNOWN, Crosswords, Slot

FREQUENT = "etaoinshrdlucmfwypvbgkjqxz"
"""The letters of English, the most frequent first: the last resort."""


def fit_words(env: Crosswords) -> Decision:
    """The next letter of the slot with the fewest words that fit."""
    open_slots = [(slot, _words(env, slot)) for slot in env.slots if _missing(env, slot)]
    slot, words = min(open_slots, key=lambda pair: (not pair[1], len(pair[1])))
    place = f"{slot.number} {'down' if slot.down else 'across'}"
    index = _missing(env, slot)[0]
    row, column = slot.places[index]
    if len(words) == 1:
        return _write(row, column, words[0][index], f"{place}, {slot.clue.lower()}: {words[0].upper()}.")
    if words:
        votes = Counter(word[index] for word in words)
        letter = min(votes, key=lambda letter: (-votes[letter], letter))
        return _write(row, column, letter, f"{len(words)} words fit {place}; {votes[letter]} of them have this letter.")
    tried = env.wrong.get(row * env.cols + column, "")
    letter = next(letter for letter in FREQUENT if letter not in tried)
    return _write(row, column, letter, f"No word known fits {place}; {letter.upper()} is the likeliest letter left.")


def _missing(env: Crosswords, slot: Slot) -> list[int]:
    return [i for i, (row, column) in enumerate(slot.places) if env.board[row * env.cols + column] == UNKNOWN]


def _words(env: Crosswords, slot: Slot) -> list[str]:
    """The words that fit the slot: that of its clue, if it fits, or all that do."""
    pattern = [row * env.cols + column for row, column in slot.places]
    known = _by_clue().get(slot.clue, ())
    return [word for word in known if _fits(env, pattern, word)] or [
        word for word in _by_length().get(slot.length, ()) if _fits(env, pattern, word)
    ]


def _fits(env: Crosswords, cells: list[int], word: str) -> bool:
    return len(word) == len(cells) and all(
        env.board[cell] == letter or (env.board[cell] == UNKNOWN and letter not in env.wrong.get(cell, ""))
        for cell, letter in zip(cells, word, strict=True)
    )


@cache
def _by_clue() -> dict[str, tuple[str, ...]]:
    return {entry.clue: (entry.word,) for entry in (*clues(hard=False), *clues(hard=True))}


@cache
def _by_length() -> dict[int, list[str]]:
    words: dict[int, list[str]] = {}
    for entry in (*clues(hard=False), *clues(hard=True)):
        words.setdefault(len(entry.word), []).append(entry.word)
    return words


def _write(row: int, column: int, letter: str, note: str) -> Decision:
    return Decision(f"\\boxed{{{row} {column} {letter.upper()}}}", note)
