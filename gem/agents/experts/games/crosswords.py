"""The expert for Crosswords: it looks the clue up, and otherwise uses the pattern of known letters.

The dictionary of clues is public, and this solver knows it, much as a person who solves crosswords knows a lexicon. A
clue in the dictionary gives the word. For any other clue the solver takes the words of the dictionary that fit the
letters on the board, and writes the letter that most of them have.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

from gem.agents.agent import Decision
from gem.data.clues import clues
from gem.envs.games.crosswords import UNKNOWN, Crosswords, WordSlot

FREQUENT = "etaoinshrdlucmfwypvbgkjqxz"
"""The letters of English, the most frequent first. They are tried in this order when no word fits."""


def fit_words(env: Crosswords) -> Decision:
    """Write the next missing letter of the slot that the fewest words fit."""
    open_slots = [(slot, _fitting_words(env, slot)) for slot in env.slots if _missing_letters(env, slot)]
    slot, words = min(open_slots, key=lambda pair: (not pair[1], len(pair[1])))
    slot_name = f"{slot.number} {'down' if slot.down else 'across'}"
    index = _missing_letters(env, slot)[0]
    row, column = slot.positions[index]
    if len(words) == 1:
        return _decision(row, column, words[0][index], f"{slot_name}, {slot.clue.lower()}: {words[0].upper()}.")
    if words:
        votes = Counter(word[index] for word in words)
        letter = min(votes, key=lambda letter: (-votes[letter], letter))
        return _decision(
            row, column, letter, f"{len(words)} words fit {slot_name}; {votes[letter]} of them have this letter."
        )
    tried_letters = env.wrong_letters.get(row * env.cols + column, "")
    letter = next(letter for letter in FREQUENT if letter not in tried_letters)
    return _decision(
        row, column, letter, f"No word known fits {slot_name}; {letter.upper()} is the likeliest letter left."
    )


def _missing_letters(env: Crosswords, slot: WordSlot) -> list[int]:
    return [i for i, (row, column) in enumerate(slot.positions) if env.board[row * env.cols + column] == UNKNOWN]


def _fitting_words(env: Crosswords, slot: WordSlot) -> list[str]:
    """The words that fit the slot: the word of its clue, or if that does not fit, all words of its length that do."""
    cells = [row * env.cols + column for row, column in slot.positions]
    clue_words = _by_clue().get(slot.clue, ())
    return [word for word in clue_words if _fits(env, cells, word)] or [
        word for word in _by_length().get(slot.length, ()) if _fits(env, cells, word)
    ]


def _fits(env: Crosswords, cells: list[int], word: str) -> bool:
    return len(word) == len(cells) and all(
        env.board[cell] == letter or (env.board[cell] == UNKNOWN and letter not in env.wrong_letters.get(cell, ""))
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


def _decision(row: int, column: int, letter: str, note: str) -> Decision:
    return Decision(f"\\boxed{{{row} {column} {letter.upper()}}}", note)
