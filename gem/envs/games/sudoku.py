r"""Fill every row, column and box with each number once.

Rules:
    The board has `scale` rows and columns and is divided into boxes of 2 by 2 (`scale` 4) or 3 by 3 (`scale` 9).
    At most `clues` cells are empty at the start. There is exactly one way to fill them so that each row, column and
    box has every number once. A number that breaks a rule, or that belongs elsewhere, is not written on the board and
    uses up a turn. Rows, columns and numbers count from 1.

Actions:
    `\boxed{R C N}` writes the number N into row R, column C, for example `\boxed{3 1 4}`.

Rewards:
    1 / (empty cells at the start) for each correct number, which adds up to 1 for a solved board. 0 for any other
    number. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Sudoku-v0`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.envs.games.sudoku_boards import SCALES, SudokuSearch, full_board, layout, remove_numbers
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randint
from gem.views import Cell, Compose, GridView

RANDOM_PARAMETERS = ((4, 10, 15), (9, 50, 50))
"""Scale, clues and turn limit: what the `random` difficulty draws from."""
MAX_DIGITS = 4
"""A number with more digits is outside of every board."""


@dataclass(frozen=True, slots=True)
class Config:
    """A value that is None is drawn for each episode, together with the others that are, as in the `random` difficulty.

    `clues` is the largest number of cells that are empty at the start, as in GEM.
    """

    clues: int | None
    max_turns: int | None
    scale: int | None


class Sudoku(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(\d+)\s(\d+)\s(\d+)}")
    prompt = "Which number do you write, and where?"

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
        self.max_turns = max_turns or 0
        self.scale = 0
        self.solution: list[int] = []
        self.givens: list[int] = []
        """The board at the start, row by row, 0 for an empty cell."""
        self.board: list[int] = []
        self.empty = self.first_empty = 0
        """The number of empty cells, now and at the start."""
        self.last = -1
        """The cell that was filled last, -1 for none."""
        self._used: list[int] = []
        """For each unit (row, column or box) the numbers that it has, as bits."""
        self._text = ""

    def _draw(self) -> None:
        config = self.config
        parameters = choice(self.rng, [row for row in RANDOM_PARAMETERS if config.scale in {None, row[0]}])
        self.scale = parameters[0]
        clues = parameters[1] if config.clues is None else config.clues
        self.max_turns = parameters[2] if config.max_turns is None else config.max_turns
        self.solution = full_board(self.scale, self.rng)
        givens = remove_numbers(self.solution, self.scale, clues, self.rng)
        self._set_board(givens, givens.copy(), -1)

    def _set_board(self, givens: list[int], board: list[int], last: int) -> None:
        self.givens, self.board, self.last = givens, board, last
        self.empty, self.first_empty = board.count(0), givens.count(0)
        self._used = SudokuSearch(self.scale, board).used
        characters = list(layout(self.scale).empty_text)
        for offset, number in zip(layout(self.scale).text_offsets, board, strict=True):
            characters[offset] = str(number) if number else "."
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

    def _play(self, match: tuple[str, str, str]) -> PlayResult:
        scale = self.scale
        try:
            row, column, number = _DIGITS[match[0]], _DIGITS[match[1]], _DIGITS[match[2]]
        except KeyError:
            row, column, number = map(_parse_number, match)
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
        for unit in board_layout.cell_units[cell]:
            self._used[unit] |= 1 << number
        offset = board_layout.text_offsets[cell]
        self._text = f"{self._text[:offset]}{number}{self._text[offset + 1 :]}"

    def _refuse(self, cell: int, row: int, column: int, number: int) -> PlayResult:
        used, (row_unit, column_unit, box_unit) = self._used, layout(self.scale).cell_units[cell]
        bit = 1 << number
        if used[row_unit] & bit:
            return f"Row {row} already has a {number}.", 0.0, "rule"
        if used[column_unit] & bit:
            return f"Column {column} already has a {number}.", 0.0, "rule"
        if used[box_unit] & bit:
            return f"The box of row {row}, column {column} already has a {number}.", 0.0, "rule"
        return f"{number} breaks no rule yet in row {row}, column {column}, but it belongs elsewhere.", 0.0, None

    def _suffix(self) -> str:
        return f"{self._text}\n{self.prompt}"

    def _format_help(self) -> str:
        return (
            "There is no action in your answer. Write it as \\boxed{R C N} with single spaces between row, column and "
            "number. The episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        scale = self.scale
        return f"\\boxed{{{randint(rng, 1, scale)} {randint(rng, 1, scale)} {randint(rng, 1, scale)}}}"

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
        """The board; the player chooses a cell and then a number."""
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
        position, number = f"Row {row + 1}, column {column + 1}", self.board[index]
        if self.givens[index]:
            return Cell(tone="given", label=f"{position}: {number}, given", text=str(number))
        if number:
            cell = Cell(tone="entry", label=f"{position}: {number}", text=str(number))
        else:
            cell = Cell(tone="open", label=f"{position}: empty")
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


def _parse_number(text: str) -> int:
    return int(text) if len(text) <= MAX_DIGITS else 0


_DIGITS = {str(n): n for n in range(1, 10)}

register("game:Sudoku-v0", Sudoku, cost="fast")
register("game:Sudoku-v0-easy", Sudoku, cost="fast", clues=10, max_turns=15, scale=4)
register("game:Sudoku-v0-hard", Sudoku, cost="fast", clues=50, max_turns=50, scale=9)
register("game:Sudoku-v0-random", Sudoku, cost="fast", clues=None, max_turns=None, scale=None)
