r"""Fill every row, column and box with each number once.

Rules:
    The board has `scale` rows and columns and is divided into boxes of 2 by 2 (`scale` 4) or 3 by 3 (`scale` 9).
    At most `clues` cells are empty at the start, and exactly one way to fill them leaves every number once in each
    row, column and box. A number that breaks a rule, or that belongs elsewhere, is not written down and uses up a
    turn. Rows, columns and numbers count from 1.

Actions:
    `\boxed{R C N}` writes the number N into row R, column C, for example `\boxed{3 1 4}`.

Rewards:
    1 / (empty cells at the start) for each right number: 1 in all for a solved board. 0 for any other number. -0.1
    for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Sudoku-v0`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gem.core import State
from gem.draw import Mixer, Source, between, choice, shuffle
from gem.envs.game import Game, Played
from gem.errors import InvalidArgument
from gem.registry import register
from gem.views import Cell, Compose, GridView

SCALES = (4, 9)
RANDOM_PARAMETERS = ((4, 10, 15), (9, 50, 50))
"""Scale, clues and turns that the `random` difficulty draws from."""
MAX_NODES = 3000
"""A search that is not done after so many numbers tried gives up: the cell keeps its number."""
MAX_DIGITS = 4
"""Longer numbers are off any board."""


class Layout(NamedTuple):
    """Which units the cells of a board belong to; cells count row by row from 0."""

    units: tuple[tuple[int, ...], ...]
    """The cells of every row, then every column, then every box."""
    units_of: tuple[tuple[int, int, int], ...]
    """Of each cell: its row, column and box as indices into `units`."""
    empty_text: str
    """An empty board as text."""
    text_at: tuple[int, ...]
    """Of each cell: where its character is in that text."""


@lru_cache(maxsize=len(SCALES))
def layout(scale: int) -> Layout:
    """The rows, columns and boxes of a board."""
    box = math.isqrt(scale)
    units_of = tuple(
        (row, scale + column, 2 * scale + row // box * box + column // box)
        for row in range(scale)
        for column in range(scale)
    )
    units: list[list[int]] = [[] for _ in range(3 * scale)]
    for cell, its_units in enumerate(units_of):
        for unit in its_units:
            units[unit].append(cell)
    gap = " " * 2
    dots = gap.join(" ".join("." * box) for _ in range(box))
    numbers = gap.join(" ".join(str(band * box + i + 1) for i in range(box)) for band in range(box))
    bands = ("\n".join(f"{band * box + i + 1}  {dots}" for i in range(box)) for band in range(box))
    text = f"   {numbers}\n" + "\n\n".join(bands)
    text_at = tuple(at for at, character in enumerate(text) if character == ".")
    return Layout(tuple(map(tuple, units)), units_of, text, text_at)


class Search:
    """A board on which numbers can be tried: which numbers each unit has, as bit masks (bit n is the number n)."""

    def __init__(self, scale: int, board: Sequence[int]) -> None:
        self.layout = layout(scale)
        self.all = (2 << scale) - 2
        self.used = [0] * (3 * scale)
        self.board = [0] * len(board)
        self.nodes = 0
        for cell, number in enumerate(board):
            if number:
                self.put(cell, 1 << number)

    def put(self, cell: int, bit: int) -> None:
        """Write the number of this bit into an empty cell."""
        self.board[cell] = bit.bit_length() - 1
        for unit in self.layout.units_of[cell]:
            self.used[unit] |= bit

    def take(self, cell: int) -> int:
        """Empty a cell; the bit of the number it had."""
        bit = 1 << self.board[cell]
        self.board[cell] = 0
        for unit in self.layout.units_of[cell]:
            self.used[unit] ^= bit
        return bit

    def candidates(self, cell: int) -> int:
        """The numbers that no row, column or box of this cell has yet, as bits."""
        row, column, box = self.layout.units_of[cell]
        return self.all & ~(self.used[row] | self.used[column] | self.used[box])

    def is_only_place(self, cell: int, bit: int) -> bool:
        """Whether one of the empty cell's units has no other place for this number."""
        for unit in self.layout.units_of[cell]:
            for other in self.layout.units[unit]:
                if other != cell and not self.board[other] and self.candidates(other) & bit:
                    break
            else:
                return True
        return False

    def fill(self, rng: Source | None = None) -> bool | None:
        """Complete the board, trying numbers in ascending or in random order.

        True if that can be done; False, with the board as before, if it cannot; None if `MAX_NODES` ran out.
        """
        self.nodes = 0
        return self._fill([cell for cell, number in enumerate(self.board) if not number], rng)

    def _fill(self, empty: list[int], rng: Source | None) -> bool | None:
        if not empty:
            return True
        best = fewest = -1
        options = 0
        used, units_of, everything = self.used, self.layout.units_of, self.all
        for index, cell in enumerate(empty):
            row, column, box = units_of[cell]
            free = everything & ~(used[row] | used[column] | used[box])
            count = free.bit_count()
            if fewest < 0 or count < fewest:
                best, fewest, options = index, count, free
                if count <= 1:
                    break
        cell = empty[best]
        rest = empty[:best] + empty[best + 1 :]
        for bit in _bits(options, rng):
            self.nodes += 1
            if self.nodes > MAX_NODES:
                return None
            self.put(cell, bit)
            done = self._fill(rest, rng)
            if done:
                return True
            self.take(cell)
            if done is None:
                return None
        return False


def _bits(mask: int, rng: Source | None) -> list[int]:
    bits = []
    while mask:
        bit = mask & -mask
        bits.append(bit)
        mask ^= bit
    if rng is not None and len(bits) > 1:
        shuffle(rng, bits)
    return bits


def full_board(scale: int, rng: Source) -> list[int]:
    """A random board that keeps all rules."""
    while True:
        search = Search(scale, [0] * scale**2)
        box = math.isqrt(scale)
        for unit in range(2 * scale, 3 * scale, box + 1):  # the boxes of the diagonal do not touch each other
            for cell, bit in zip(search.layout.units[unit], _bits(search.all, rng), strict=True):
                search.put(cell, bit)
        if search.fill(rng):
            return search.board


def remove_numbers(solution: Sequence[int], scale: int, most: int, rng: Source) -> list[int]:
    """The board without up to `most` of its numbers, which still has no other solution.

    Taking a number away keeps the solution the only one if nothing else fits into its cell, or if the number fits
    nowhere else in a row, column or box; otherwise the other numbers that fit are tried out.
    """
    search = Search(scale, solution)
    cells = list(range(len(solution)))
    shuffle(rng, cells)
    removed = 0
    for cell in cells:
        if removed == most:
            break
        bit = search.take(cell)
        others = search.candidates(cell) & ~bit
        if not others or search.is_only_place(cell, bit) or not _fits_otherwise(search, cell, others):
            removed += 1
        else:
            search.put(cell, bit)
    return search.board


def _fits_otherwise(search: Search, cell: int, others: int) -> bool:
    """Whether the board has, or may have, a solution with one of the `others` in the cell; leaves it as it was."""
    for bit in _bits(others, None):
        trial = Search(len(search.used) // 3, search.board)
        trial.put(cell, bit)
        if trial.fill() is not False:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Config:
    """None draws scale, clues and turns together for each episode, as the `random` difficulty does."""

    clues: int | None
    max_turns: int | None
    scale: int | None


class Sudoku(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(\d+)\s(\d+)\s(\d+)}")

    def __init__(
        self,
        clues: int | None = 10,
        max_turns: int | None = 15,
        scale: int | None = 4,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if scale is not None and scale not in SCALES:
            raise InvalidArgument(f"scale must be 4 or 9, not {scale}.")
        if clues is not None and not 1 <= clues < (scale or SCALES[0]) ** 2:
            raise InvalidArgument(f"clues, the most cells to empty, must be from 1 to fewer than all, not {clues}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(clues, max_turns, scale)
        self.scale = 0
        self.solution: list[int] = []
        self.givens: list[int] = []
        """The board at the start, row by row, 0 for an empty cell."""
        self.board: list[int] = []
        self.empty = self.first_empty = 0
        """How many cells are empty, now and at the start."""
        self.last = -1
        self._used: list[int] = []
        """The numbers that each unit has, as bits."""
        self._text = ""

    def _draw(self) -> None:
        config = self.config
        drawn = choice(self.rng, [p for p in RANDOM_PARAMETERS if config.scale in {None, p[0]}])
        self.scale = drawn[0]
        clues = drawn[1] if config.clues is None else config.clues
        self.max_turns = drawn[2] if config.max_turns is None else config.max_turns
        self.solution = full_board(self.scale, self.rng)
        givens = remove_numbers(self.solution, self.scale, clues, self.rng)
        self._set_board(givens, givens.copy(), -1)

    def _set_board(self, givens: list[int], board: list[int], last: int) -> None:
        self.givens, self.board, self.last = givens, board, last
        self.empty, self.first_empty = board.count(0), givens.count(0)
        self._used = Search(self.scale, board).used
        characters = list(layout(self.scale).empty_text)
        for at, number in zip(layout(self.scale).text_at, board, strict=True):
            characters[at] = str(number) if number else "."
        self._text = "".join(characters)

    def _instructions(self) -> str:
        box = math.isqrt(self.scale)
        return (
            f"This is a Sudoku of {self.scale} rows and columns, in boxes of {box} by {box}. Fill the empty cells so "
            f"that every row, column and box has each number from 1 to {self.scale} once. There is exactly one "
            f"solution; {self.first_empty} cells are empty, and you have {self.max_turns} turns.\n"
            "Rows and columns count from 1. On the board, '.' is an empty cell.\n"
            "Write \\boxed{R C N} to put the number N into row R, column C, for example \\boxed{3 1 4}."
        )

    def _play(self, match: tuple[str, str, str]) -> Played:
        scale = self.scale
        try:
            row, column, number = _NUMBERS[match[0]], _NUMBERS[match[1]], _NUMBERS[match[2]]
        except KeyError:
            row, column, number = map(_number, match)
        if not (0 < row <= scale and 0 < column <= scale and 0 < number <= scale):
            return f"Rows, columns and numbers go from 1 to {scale}.", 0.0, "rule"
        cell = (row - 1) * scale + column - 1
        if self.board[cell]:
            return f"Row {row}, column {column} already has the number {self.board[cell]}.", 0.0, "rule"
        if self.solution[cell] != number:
            return self._refuse(cell, row, column, number)
        self._write(cell, number)
        if not self.empty:
            self.over = self.solved = True
            return f"{number} is right in row {row}, column {column}. The board is full.", 1 / self.first_empty, None
        return f"{number} is right in row {row}, column {column}.", 1 / self.first_empty, None

    def _write(self, cell: int, number: int) -> None:
        self.board[cell] = number
        self.empty -= 1
        self.last = cell
        board_layout = layout(self.scale)
        for unit in board_layout.units_of[cell]:
            self._used[unit] |= 1 << number
        at = board_layout.text_at[cell]
        self._text = f"{self._text[:at]}{number}{self._text[at + 1 :]}"

    def _refuse(self, cell: int, row: int, column: int, number: int) -> Played:
        used, (its_row, its_column, its_box) = self._used, layout(self.scale).units_of[cell]
        bit = 1 << number
        if used[its_row] & bit:
            return f"Row {row} already has a {number}.", 0.0, "rule"
        if used[its_column] & bit:
            return f"Column {column} already has a {number}.", 0.0, "rule"
        if used[its_box] & bit:
            return f"The box of row {row}, column {column} already has a {number}.", 0.0, "rule"
        return f"{number} breaks no rule yet in row {row}, column {column}, but it belongs elsewhere.", 0.0, None

    def _suffix(self) -> str:
        return f"{self._text}\nWhich number do you write, and where?"

    def _format_help(self) -> str:
        return (
            "There is no action in your answer. Write it as \\boxed{R C N} with single spaces between row, column and "
            "number. The episode ends."
        )

    def _random_action(self, rng: Mixer) -> str:
        scale = self.scale
        return f"\\boxed{{{between(rng, 1, scale)} {between(rng, 1, scale)} {between(rng, 1, scale)}}}"

    def _get_own_state(self) -> State:
        return {
            "scale": self.scale,
            "solution": list(self.solution),
            "givens": list(self.givens),
            "board": list(self.board),
            "last": self.last,
        }

    def _set_own_state(self, state: State) -> None:
        self.scale = state["scale"]
        self.solution = list(state["solution"])
        self._set_board(list(state["givens"]), list(state["board"]), state["last"])

    def view(self, seat: int = 0) -> GridView:
        """The board; choose a cell, then a number."""
        scale = self.scale
        view = GridView(
            kind="grid",
            name=f"Sudoku, {scale} rows, {scale} columns",
            rows=[[self._cell(row * scale + column) for column in range(scale)] for row in range(scale)],
            coords=True,
            origin=1,
            boxes=math.isqrt(scale),
            facts=[("Empty cells", str(self.empty))],
            legend=[("click", "choose a cell"), (f"1 to {scale}", "write the number"), ("arrow keys", "move")],
        )
        if not self.over:
            view["compose"] = _compose(scale)
        return view

    def _cell(self, index: int) -> Cell:
        row, column = divmod(index, self.scale)
        place, number = f"Row {row + 1}, column {column + 1}", self.board[index]
        if self.givens[index]:
            return Cell(tone="given", label=f"{place}: {number}, given", text=str(number))
        if number:
            cell = Cell(tone="entry", label=f"{place}: {number}", text=str(number))
        else:
            cell = Cell(tone="open", label=f"{place}: empty")
            if not self.over:
                cell["part"] = f"{row + 1} {column + 1}"
        if index == self.last:
            cell["last"] = True
        return cell


def _compose(scale: int) -> Compose:
    numbers = [str(n) for n in range(1, scale + 1)]
    return Compose(
        picks=["place", "key"],
        prompts=["Choose an empty cell", "Choose a number"],
        before="\\boxed{",
        between=" ",
        after="}",
        keys=[[{"text": n, "label": n, "part": n} for n in numbers]],
    )


def _number(text: str) -> int:
    return int(text) if len(text) <= MAX_DIGITS else 0


_NUMBERS = {str(n): n for n in range(1, 10)}

register("game:Sudoku-v0", Sudoku)
register("game:Sudoku-v0-easy", Sudoku, clues=10, max_turns=15, scale=4)
register("game:Sudoku-v0-hard", Sudoku, clues=50, max_turns=50, scale=9)
register("game:Sudoku-v0-random", Sudoku, clues=None, max_turns=None, scale=None)
