"""GEM's hidden fields of the puzzles as what our games remember: one function a game, at any moment of an episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gem.data.clues import clues

Hidden = dict[str, Any]
State = dict[str, Any]


def sudoku(hidden: Hidden) -> State:
    """GEM does not keep which cells were given, so in mid-episode the last filled ones count as written."""
    board = [number for row in hidden["board"] for number in row]
    givens = board.copy()
    filled = [cell for cell, number in enumerate(board) if number]
    written = hidden["init_num_empty"] - board.count(0)
    for cell in filled[len(filled) - written :]:
        givens[cell] = 0
    return {
        "scale": hidden["scale"],
        "solution": [number for row in hidden["full_grid"] for number in row],
        "givens": givens,
        "board": board,
        "last": -1,
    }


def game_2048(hidden: Hidden) -> State:
    """Tiles become exponents."""
    return {
        "target": _power(hidden["target_tile"]),
        "board": [[_power(tile) for tile in row] for row in hidden["board"]],
        "best": _power(hidden["max_tile_achieved"]),
        "first_best": _power(hidden["init_max_tile_achieved"]),
        "last": -1,
    }


def _power(tile: int) -> int:
    return tile.bit_length() - 1 if tile else 0


def crosswords(hidden: Hidden) -> State:
    """Clues are ours where we know the word."""
    known = {entry.word: entry.clue for entry in (*clues(hard=False), *clues(hard=True))}
    slots = [
        [row, column, direction == "down", len(word), known.get(word.lower(), "")]
        for word, (row, column, direction) in hidden["placed_words"].items()
    ]
    return {
        "rows": len(hidden["solution"]),
        "cols": len(hidden["solution"][0]),
        "solution": "".join(letter for row in hidden["solution"] for letter in row).lower(),
        "board": "".join(letter for row in hidden["board"] for letter in row).lower(),
        "slots": slots,
        "wrong": {},
        "last": -1,
    }


def word_search(hidden: Hidden) -> State:
    """Words in alphabetical order, as ours are."""
    size = len(hidden["game_board"])
    words = sorted(hidden["placed_words"])
    ends = []
    for word in words:
        row, column, direction = hidden["placed_words"][word]
        first = row * size + column
        ends.append([first, first + (len(word) - 1) * (size if direction == "down" else 1)])
    return {
        "size": size,
        "board": "".join(letter for row in hidden["game_board"] for letter in row),
        "words": words,
        "ends": ends,
        "found": [words.index(word) for word in hidden["correct_words"]],
    }


PUZZLES: Mapping[str, Callable[[Hidden], State]] = {
    "Sudoku": sudoku,
    "Game2048": game_2048,
    "Crosswords": crosswords,
    "WordSearch": word_search,
}
"""Family to function."""
