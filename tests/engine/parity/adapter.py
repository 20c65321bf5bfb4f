"""From GEM's hidden fields to the states that our environments take."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from gem.rng import pack_generator
from tests.engine.parity.puzzles import PUZZLES

Hidden = dict[str, Any]
State = dict[str, Any]


def to_state(env_id: str, hidden: Hidden) -> State:
    """The state of our environment `env_id` at the moment of an episode that GEM's `hidden` fields describe.

    Raises:
        KeyError: if there is no adapter for the environment.
    """
    family = env_id.partition(":")[2].partition("-v")[0]
    return {
        "seed": 0,
        "rng": pack_generator(random.Random(0)),
        "turn": hidden["turn_count"],
        "over": False,
        "solved": False,
        "max_turns": hidden["max_turns"],
        **FAMILIES[family](hidden),
    }


def flat(grid: list[list[Any]]) -> list[Any]:
    """The cells row by row."""
    return [cell for row in grid for cell in row]


def guess_the_number(hidden: Hidden) -> State:
    return {
        "min_number": hidden["min_number"],
        "max_number": hidden["max_number"],
        "secret": hidden["game_number"],
        "guesses": list(hidden["previous_guesses"]),
    }


def minesweeper(hidden: Hidden) -> State:
    grid, revealed, flags = hidden["grid"], hidden["revealed"], hidden["flags"]
    numbers = flat(grid)
    mines = [cell for cell, number in enumerate(numbers) if number == -1]
    shown = [
        "F" if flag else str(number) if is_open else "."
        for number, is_open, flag in zip(numbers, flat(revealed), flat(flags), strict=True)
    ]
    return {
        "rows": hidden["rows"],
        "cols": hidden["cols"],
        "num_mines": hidden["num_mines"],
        "mines": mines or None,  # none before they are laid
        "shown": "".join(shown),
        "last": -1,
    }


def sokoban(hidden: Hidden) -> State:
    lines = []
    for fixed_row, state_row in zip(hidden["room_fixed"], hidden["room_state"], strict=True):
        cells = zip(fixed_row, state_row, strict=True)
        lines.append("".join(SOKOBAN_SYMBOLS[state, fixed == 2] for fixed, state in cells) + "\n")
    room = "".join(lines)
    return {"room": room, "start": room, "path": ""}


SOKOBAN_SYMBOLS = {
    (0, False): "#",
    (1, False): "-",
    (2, True): ".",
    (3, True): "*",
    (4, False): "$",
    (4, True): "*",
    (5, False): "@",
    (5, True): "+",
}
"""(GEM's number for what stands on a cell, whether the cell is a target) to ours."""


def mastermind(hidden: Hidden) -> State:
    return {
        "code_length": hidden["code_length"],
        "num_numbers": hidden["num_numbers"],
        "code": list(hidden["game_code"]),
        "guesses": [list(guess) for guess in hidden["previous_guesses"]],
        "best": hidden["milestone"],
    }


def wordle(hidden: Hidden) -> State:
    return {
        "word_length": hidden["word_length"],
        "secret": hidden["secret_word"].upper(),
        "guesses": [guess.upper() for guess in hidden["previous_guesses"]],
        "found": [bool(place) for place in hidden["milestones"]],
    }


def hangman(hidden: Hidden) -> State:
    return {
        "word_length": hidden["word_length"],
        "secret": hidden["secret_word"].upper(),
        "letters": "".join(hidden["guessed_letters"]).upper(),
        "wrong_words": [],  # GEM does not keep them
        "shown": "".join(hidden["board"]).upper(),
    }


def tower_of_hanoi(hidden: Hidden) -> State:
    towers = {name: "".join(map(str, disks)) for name, disks in hidden["board"].items()}
    return {"num_disks": hidden["num_disks"], "towers": towers, "last": ""}


def fifteen_puzzle(hidden: Hidden) -> State:
    board = [tile or 0 for row in hidden["board"] for tile in row]
    return {"num_rows": hidden["num_rows"], "board": board, "last": -1}


FAMILIES: dict[str, Callable[[Hidden], State]] = {
    **PUZZLES,
    "FifteenPuzzle": fifteen_puzzle,
    "GuessTheNumber": guess_the_number,
    "Hangman": hangman,
    "Mastermind": mastermind,
    "Minesweeper": minesweeper,
    "Sokoban": sokoban,
    "TowerofHanoi": tower_of_hanoi,
    "Wordle": wordle,
}
