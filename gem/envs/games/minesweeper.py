r"""Open every cell that hides no mine, guided by the numbers of the cells around.

Rules:
    A board of `rows` by `cols` cells hides `num_mines` mines. An opened cell shows how many of its up to eight
    neighbours hide a mine; opening one that shows 0 opens its neighbours too. The mines are laid when the first cell
    is opened, outside the 3 by 3 cells around it. Opening a mine ends the episode. The board is solved when all cells
    without a mine are open; flags only help you remember. Rows and columns count from 0.

Actions:
    `\boxed{reveal R C}` opens the cell in row R, column C, for example `\boxed{reveal 3 2}`. `\boxed{flag R C}` sets
    or removes a flag there. A flagged cell without a mine cannot be opened until its flag is removed; a flag does not
    protect from a mine.

Rewards:
    The number of cells opened, divided by the number of cells without a mine: 1 in all for a solved board. 0 for
    setting or removing a flag, for opening a mine and for an action against the rules. -0.1 for an action that cannot
    be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Minesweeper-v0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, randbelow, randint, sample
from gem.views import Cell, GridView

MINE = -1
HIDDEN, FLAG = ".", "F"
MAX_SIDE = 40
MAX_DIGITS = 4
"""A number with more digits is outside of every board."""


@dataclass(frozen=True, slots=True)
class Config:
    """A value that is None is drawn for each episode, as in the `random` difficulty."""

    rows: int | None
    cols: int | None
    num_mines: int | None
    max_turns: int | None


class Minesweeper(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{([a-zA-Z]+)\s(\d+)\s(\d+)}")
    prompt = "What do you do next?"

    def __init__(
        self,
        rows: int | None = 5,
        cols: int | None = 5,
        num_mines: int | None = 5,
        max_turns: int | None = 25,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        for name, side in (("rows", rows), ("cols", cols)):
            if side is not None and not 2 <= side <= MAX_SIDE:
                raise InvalidArgument(f"{name} must be from 2 to {MAX_SIDE}, not {side}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        max_mines = (rows or 5) * (cols or 5) - min(rows or 5, 3) * min(cols or 5, 3)
        if not max_mines:
            raise InvalidArgument(
                f"A board of {rows} rows and {cols} columns has no place for a mine away from the first opening: at "
                "least one side must be 4 or more."
            )
        if num_mines is not None and not 1 <= num_mines <= max_mines:
            raise InvalidArgument(
                f"num_mines must be from 1 to {max_mines}, so that the first opening can be free of mines, "
                f"not {num_mines}."
            )
        self.config = Config(rows, cols, num_mines, max_turns)
        self.max_turns = max_turns or 0
        self.rows = self.cols = self.num_mines = 0
        self.mines: frozenset[int] | None = None
        """The cells with a mine, as indices row * cols + column; None before the mines are laid."""
        self.mine_counts: list[int] = []
        """For each cell the number of mines next to it, MINE for a mine; empty before the mines are laid."""
        self.visible_cells: list[str] = []
        """The visible board: for each cell HIDDEN, FLAG or its number."""
        self._text = bytearray()
        """The visible board as ASCII text. To change a byte and decode it takes a tenth of writing it anew."""
        self.last_cell = -1
        """The cell that was opened or flagged last, -1 for none."""
        self._num_safe_hidden = 0
        """The number of unopened cells without a mine."""

    def _draw(self) -> None:
        config = self.config
        side = randint(self.rng, 5, 8)
        self.rows = side if config.rows is None else config.rows
        self.cols = side if config.cols is None else config.cols
        self.num_mines = self.rows * self.cols // 5 if config.num_mines is None else config.num_mines
        self.max_turns = self.rows * self.cols if config.max_turns is None else config.max_turns
        self.mines = None
        self.mine_counts = []
        self._set_visible_cells([HIDDEN] * (self.rows * self.cols))
        self.last_cell = -1
        self._num_safe_hidden = len(self.visible_cells) - self.num_mines

    def _set_visible_cells(self, visible_cells: list[str]) -> None:
        self.visible_cells = visible_cells
        text, offsets = hidden_board_text(self.rows, self.cols)
        self._text = bytearray(text)
        for offset, symbol in zip(offsets, visible_cells, strict=True):
            self._text[offset] = ord(symbol)

    def _set_visible_cell(self, cell: int, symbol: str) -> None:
        self.visible_cells[cell] = symbol
        self._text[hidden_board_text(self.rows, self.cols)[1][cell]] = ord(symbol)

    def _instructions(self) -> str:
        return (
            f"This is Minesweeper on {self.rows} rows and {self.cols} columns with {self.num_mines} mines. Open every "
            "cell without a mine. An open cell shows how many of its up to eight neighbours are mines. The first cell "
            f"you open and those around it are safe. You have {self.max_turns} turns.\n"
            "Rows and columns count from 0. On the board, '.' is an unopened cell and 'F' a flag.\n"
            "Write \\boxed{reveal R C} to open the cell in row R, column C, or \\boxed{flag R C} to set or remove a "
            "flag, for example \\boxed{reveal 3 2}."
        )

    def _play(self, match: tuple[str, str, str]) -> PlayResult:
        verb, row_text, col_text = match
        verb = verb.lower()
        if verb not in {"reveal", "flag"}:
            return f"You can reveal or flag a cell, not '{verb[:20]}'.", 0.0, "rule"
        row = int(row_text) if len(row_text) <= MAX_DIGITS else self.rows
        col = int(col_text) if len(col_text) <= MAX_DIGITS else self.cols
        if row >= self.rows or col >= self.cols:
            return f"Rows go from 0 to {self.rows - 1} and columns from 0 to {self.cols - 1}.", 0.0, "rule"
        cell = row * self.cols + col
        if self.visible_cells[cell] not in {HIDDEN, FLAG}:
            return f"Row {row}, column {col} is already open.", 0.0, "rule"
        if verb == "flag":
            self.last_cell = cell
            if self.visible_cells[cell] == FLAG:
                self._set_visible_cell(cell, HIDDEN)
                return f"You removed the flag from row {row}, column {col}.", 0.0, None
            self._set_visible_cell(cell, FLAG)
            return f"You flagged row {row}, column {col}.", 0.0, None
        self.last_cell = cell
        return self._reveal(cell, row, col)

    def _reveal(self, cell: int, row: int, col: int) -> PlayResult:
        if self.mines is None:
            around = {cell, *neighbours(self.rows, self.cols)[cell]}
            candidates = [candidate for candidate in range(len(self.visible_cells)) if candidate not in around]
            self._lay_mines(frozenset(sample(self.rng, candidates, self.num_mines)))
        if self.mine_counts[cell] == MINE:
            self.over = True
            return f"There is a mine at row {row}, column {col}. The episode ends.", 0.0, None
        if self.visible_cells[cell] == FLAG:
            return f"Row {row}, column {col} has a flag; remove it before you open the cell.", 0.0, "rule"
        num_opened = self._open(cell)
        self._num_safe_hidden -= num_opened
        reward = num_opened / (len(self.visible_cells) - self.num_mines)
        text = f"You opened row {row}, column {col}: {self.mine_counts[cell]}."
        if num_opened > 1:
            text += f" {num_opened} cells opened."
        if self._num_safe_hidden == 0:
            self.over = self.solved = True
            text += " All cells without a mine are open."
        return text, reward, None

    def _lay_mines(self, mines: frozenset[int]) -> None:
        neighbours_of = neighbours(self.rows, self.cols)
        counts = [0] * len(neighbours_of)
        for mine in mines:
            for cell in neighbours_of[mine]:
                counts[cell] += 1
        for mine in mines:
            counts[mine] = MINE
        self.mines, self.mine_counts = mines, counts

    def _open(self, cell: int) -> int:
        """Open the cell and the neighbours of every 0, except flagged cells; return the number of cells opened."""
        visible_cells, mine_counts, neighbours_of = (
            self.visible_cells,
            self.mine_counts,
            neighbours(self.rows, self.cols),
        )
        text, offsets = self._text, hidden_board_text(self.rows, self.cols)[1]
        self._set_visible_cell(cell, _DIGITS[mine_counts[cell]])
        num_opened = 1
        zeros = [] if mine_counts[cell] else [cell]
        while zeros:
            for neighbour in neighbours_of[zeros.pop()]:
                if visible_cells[neighbour] == HIDDEN:
                    visible_cells[neighbour] = _DIGITS[mine_counts[neighbour]]
                    text[offsets[neighbour]] = 48 + mine_counts[neighbour]  # 48 is "0"
                    num_opened += 1
                    if not mine_counts[neighbour]:
                        zeros.append(neighbour)
        return num_opened

    def _suffix(self) -> str:
        return self._text.decode()

    def _format_help(self) -> str:
        return (
            "There is no action in your answer. Write it as \\boxed{reveal R C} or \\boxed{flag R C} with single "
            "spaces. The episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        verb = "reveal" if randbelow(rng, 10) else "flag"  # nine to one, as in GEM
        return f"\\boxed{{{verb} {randbelow(rng, self.rows)} {randbelow(rng, self.cols)}}}"

    def _get_own_state(self) -> State:
        return {
            "rows": self.rows,
            "cols": self.cols,
            "num_mines": self.num_mines,
            "mines": None if self.mines is None else sorted(self.mines),
            "shown": "".join(self.visible_cells),
            "last": self.last_cell,
        }

    def _set_own_state(self, state: State) -> None:
        self.rows, self.cols, self.num_mines = state["rows"], state["cols"], state["num_mines"]
        self._set_visible_cells(list(state["shown"]))
        self.last_cell = state["last"]
        self.mines, self.mine_counts = None, []
        if state["mines"] is not None:
            self._lay_mines(frozenset(state["mines"]))
        closed = self.visible_cells.count(HIDDEN) + self.visible_cells.count(FLAG)
        self._num_safe_hidden = closed - self.num_mines

    def view(self, seat: int = 0) -> GridView:
        """The visible board; after a loss, with the mines."""
        self._require_reset()
        cols = self.cols
        cells = [self._cell(cell) for cell in range(len(self.visible_cells))]
        return GridView(
            kind="grid",
            name=f"Minesweeper, {self.rows} rows, {cols} columns",
            rows=[cells[i : i + cols] for i in range(0, len(cells), cols)],
            coords=True,
            facts=[("Mines left", str(self.num_mines - self.visible_cells.count(FLAG)))],
            legend=[("click", "open"), ("right click", "flag"), ("Enter", "open"), ("F", "flag")],
        )

    def _cell(self, index: int) -> Cell:
        row, col = divmod(index, self.cols)
        position, symbol = f"Row {row}, column {col}", self.visible_cells[index]
        is_mine = self.over and self.mines is not None and index in self.mines
        if is_mine and index == self.last_cell and not self.solved:
            cell = Cell(tone="bad", label=f"{position}: the mine that was opened", piece="mine")
        elif symbol == FLAG:
            is_wrong_flag = self.over and self.mines is not None and not is_mine
            cell = Cell(tone="hidden", label=f"{position}: {'wrong flag' if is_wrong_flag else 'flag'}", piece="flag")
            if is_wrong_flag:
                cell["tone"] = "bad"
        elif is_mine:
            cell = Cell(tone="hidden", label=f"{position}: mine", piece="mine")
        elif symbol == HIDDEN:
            cell = Cell(tone="hidden", label=f"{position}: unopened")
        else:
            cell = Cell(tone="open", label=f"{position}: {symbol}")
            if symbol != "0":
                cell["text"], cell["n"] = symbol, int(symbol)
        if not self.over and symbol == HIDDEN:
            cell["act"] = f"\\boxed{{reveal {row} {col}}}"
        if not self.over and symbol in {HIDDEN, FLAG}:
            cell["alt"] = f"\\boxed{{flag {row} {col}}}"
        if index == self.last_cell:
            cell["last"] = True
        return cell


@lru_cache(maxsize=64)
def neighbours(rows: int, cols: int) -> tuple[tuple[int, ...], ...]:
    """The indices of the up to eight cells around each cell."""
    return tuple(
        tuple(
            r * cols + c
            for r in range(max(row - 1, 0), min(row + 2, rows))
            for c in range(max(col - 1, 0), min(col + 2, cols))
            if (r, c) != (row, col)
        )
        for row in range(rows)
        for col in range(cols)
    )


@lru_cache(maxsize=64)
def hidden_board_text(rows: int, cols: int) -> tuple[bytes, tuple[int, ...]]:
    """The text of a board without an open cell, in ASCII, and the offset of each cell in it."""
    lines = ["    " + " ".join(f"{col:2}" for col in range(cols))]
    lines += [f"{row:2}  {'  '.join(HIDDEN * cols)}" for row in range(rows)]
    text = "\n".join([*lines, Minesweeper.prompt])
    return text.encode("ascii"), tuple(offset for offset, character in enumerate(text) if character == HIDDEN)


_DIGITS = "012345678"

register("game:Minesweeper-v0", Minesweeper, cost="fast")
register("game:Minesweeper-v0-easy", Minesweeper, cost="fast", rows=5, cols=5, num_mines=5, max_turns=25)
register("game:Minesweeper-v0-hard", Minesweeper, cost="fast", rows=8, cols=8, num_mines=12, max_turns=64)
register("game:Minesweeper-v0-random", Minesweeper, cost="fast", rows=None, cols=None, num_mines=None, max_turns=None)
