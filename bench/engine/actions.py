r"""Well-formed actions for an episode, from GEM's hidden fields of it: the same ones go to every side.

Where the puzzle says what is right (Sudoku, Crosswords, WordSearch), half of the actions are right, so that boards
change as they do under an agent's hands; the others are uniform, as are all in the other games.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from gem.data import words

Hidden = dict[str, Any]
WAYS = ("up", "down", "left", "right")


def draw(family: str, hidden: Hidden, rng: random.Random) -> list[str]:
    """An action for every turn that the limit allows, each as `\boxed{...}`."""
    one = FAMILIES[family]
    return [f"\\boxed{{{one(hidden, rng)}}}" for _ in range(hidden["max_turns"])]


def _guess_the_number(hidden: Hidden, rng: random.Random) -> str:
    return str(rng.randint(hidden["min_number"], hidden["max_number"]))


def _mastermind(hidden: Hidden, rng: random.Random) -> str:
    return " ".join(map(str, rng.sample(range(1, hidden["num_numbers"] + 1), hidden["code_length"])))


def _wordle(hidden: Hidden, rng: random.Random) -> str:
    return rng.choice(words.common(hidden["word_length"])).upper()


def _hangman(hidden: Hidden, rng: random.Random) -> str:
    return _wordle(hidden, rng) if rng.random() < 0.5 else rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _way(_: Hidden, rng: random.Random) -> str:
    return rng.choice(WAYS)


def _tower_of_hanoi(_: Hidden, rng: random.Random) -> str:
    return " ".join(rng.sample("ABC", 2))


def _minesweeper(hidden: Hidden, rng: random.Random) -> str:
    verb = "reveal" if rng.random() < 0.9 else "flag"
    return f"{verb} {rng.randrange(hidden['rows'])} {rng.randrange(hidden['cols'])}"


def _sudoku(hidden: Hidden, rng: random.Random) -> str:
    scale, solution = hidden["scale"], hidden["full_grid"]
    row, column = rng.randrange(scale), rng.randrange(scale)
    if rng.random() < 0.5:
        empty = [(r, c) for r in range(scale) for c in range(scale) if not hidden["board"][r][c]]
        row, column = rng.choice(empty)
        return f"{row + 1} {column + 1} {solution[row][column]}"
    return f"{row + 1} {column + 1} {rng.randint(1, scale)}"


def _crosswords(hidden: Hidden, rng: random.Random) -> str:
    solution = hidden["solution"]
    cells = [(r, c) for r, row in enumerate(solution) for c, letter in enumerate(row) if letter != "."]
    row, column = rng.choice(cells)
    letter = solution[row][column] if rng.random() < 0.5 else rng.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return f"{row} {column} {letter.upper()}"


def _word_search(hidden: Hidden, rng: random.Random) -> str:
    word, (row, column, direction) = rng.choice(sorted(hidden["placed_words"].items()))
    down = direction == "down"
    if rng.random() < 0.5:
        size = len(hidden["game_board"])
        row, column = rng.randrange(size), rng.randrange(size)
        reach = size - 1 - (row if down else column)
    else:
        reach = len(word) - 1
    return f"{row} {column} {row + reach * down} {column + reach * (not down)}"


FAMILIES: dict[str, Callable[[Hidden, random.Random], str]] = {
    "GuessTheNumber": _guess_the_number,
    "Mastermind": _mastermind,
    "Wordle": _wordle,
    "Hangman": _hangman,
    "TowerofHanoi": _tower_of_hanoi,
    "FifteenPuzzle": _way,
    "Minesweeper": _minesweeper,
    "Game2048": _way,
    "Sokoban": _way,
    "Crosswords": _crosswords,
    "WordSearch": _word_search,
    "Sudoku": _sudoku,
}
"""Family to the function that draws one action's content."""


def draw_numbers(turns: int, num_envs: int, highest: int, rng: random.Random) -> Sequence[Sequence[str]]:
    """Guesses for a vector of GuessTheNumber, one list for each turn."""
    return [[f"\\boxed{{{rng.randint(1, highest)}}}" for _ in range(num_envs)] for _ in range(turns)]
