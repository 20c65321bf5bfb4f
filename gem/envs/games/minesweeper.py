r"""Open every cell that hides no mine, guided by the numbers of the cells around.

Rules:
    A board of `rows` by `cols` cells hides `num_mines` mines. An opened cell shows how many of its up to eight
    neighbours hide a mine; opening one that shows 0 opens its neighbours too. The mines are laid at the first
    opening, outside the 3 by 3 cells around it. Opening a mine ends the episode. The board is solved when all cells
    without a mine are open; flags are only for memory. Rows and columns count from 0.

Actions:
    `\boxed{reveal R C}` opens the cell in row R, column C, for example `\boxed{reveal 3 2}`. `\boxed{flag R C}` sets
    a flag there, or takes it away. A flagged cell without a mine stays shut until its flag is removed; a flag does not
    protect from a mine.

Rewards:
    The number of cells opened, divided by the number of cells without a mine: 1 in all for a solved board. 0 for
    flags, for a mine and for actions against the rules. -0.1 for an action that cannot be parsed, which ends the
    episode.

Source:
    GEM (arXiv 2510.01051), `game:Minesweeper-v0`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gem.core import State
from gem.envs.game import Game, Played
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, randbelow, randint, sample
from gem.views import Cell, GridView

MINE = -1
HIDDEN, FLAG = ".", "F"
MAX_SIDE = 40
MAX_DIGITS = 4
"""Longer numbers are off any board."""


@dataclass(frozen=True, slots=True)
class Config:
    """None draws the value anew for each episode, as the `random` difficulty does."""

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
        smallest = (rows or 5) * (cols or 5) - min(rows or 5, 3) * min(cols or 5, 3)
        if num_mines is not None and not 1 <= num_mines <= smallest:
            raise InvalidArgument(
                f"num_mines must be from 1 to {smallest}, so that the first opening can be free of mines, "
                f"not {num_mines}."
            )
        self.config = Config(rows, cols, num_mines, max_turns)
        self.rows = self.cols = self.num_mines = 0
        self.mines: frozenset[int] | None = None
        """Indices row * cols + column; None before they are laid."""
        self.counts: list[int] = []
        """How many mines each cell touches, MINE for a mine; empty before they are laid."""
        self.shown: list[str] = []
        """What everybody sees, cell by cell: HIDDEN, FLAG or the number."""
        self._picture = bytearray()
        """The same as ASCII text: changing a byte and decoding the whole takes a tenth of writing it anew."""
        self.last = -1
        self._to_open = 0

    def _draw(self) -> None:
        config = self.config
        side = randint(self.rng, 5, 8)
        self.rows = side if config.rows is None else config.rows
        self.cols = side if config.cols is None else config.cols
        self.num_mines = self.rows * self.cols // 5 if config.num_mines is None else config.num_mines
        self.max_turns = self.rows * self.cols if config.max_turns is None else config.max_turns
        self.mines = None
        self.counts = []
        self._show([HIDDEN] * (self.rows * self.cols))
        self.last = -1
        self._to_open = len(self.shown) - self.num_mines

    def _show(self, shown: list[str]) -> None:
        self.shown = shown
        empty, places = picture(self.rows, self.cols)
        self._picture = bytearray(empty)
        for place, text in zip(places, shown, strict=True):
            self._picture[place] = ord(text)

    def _mark(self, cell: int, text: str) -> None:
        self.shown[cell] = text
        self._picture[picture(self.rows, self.cols)[1][cell]] = ord(text)

    def _instructions(self) -> str:
        return (
            f"This is Minesweeper on {self.rows} rows and {self.cols} columns with {self.num_mines} mines. Open every "
            "cell without a mine. An open cell shows how many of its up to eight neighbours are mines. The first cell "
            f"you open and those around it are safe. You have {self.max_turns} turns.\n"
            "Rows and columns count from 0. On the board, '.' is an unopened cell and 'F' a flag.\n"
            "Write \\boxed{reveal R C} to open the cell in row R, column C, or \\boxed{flag R C} to set or remove a "
            "flag, for example \\boxed{reveal 3 2}."
        )

    def _play(self, match: tuple[str, str, str]) -> Played:
        verb, row_text, col_text = match
        verb = verb.lower()
        if verb not in {"reveal", "flag"}:
            return f"You can reveal or flag a cell, not '{verb[:20]}'.", 0.0, "rule"
        row = int(row_text) if len(row_text) <= MAX_DIGITS else self.rows
        col = int(col_text) if len(col_text) <= MAX_DIGITS else self.cols
        if row >= self.rows or col >= self.cols:
            return f"Rows go from 0 to {self.rows - 1} and columns from 0 to {self.cols - 1}.", 0.0, "rule"
        cell = row * self.cols + col
        if self.shown[cell] not in {HIDDEN, FLAG}:
            return f"Row {row}, column {col} is already open.", 0.0, "rule"
        if verb == "flag":
            self.last = cell
            if self.shown[cell] == FLAG:
                self._mark(cell, HIDDEN)
                return f"You removed the flag from row {row}, column {col}.", 0.0, None
            self._mark(cell, FLAG)
            return f"You flagged row {row}, column {col}.", 0.0, None
        self.last = cell
        return self._reveal(cell, row, col)

    def _reveal(self, cell: int, row: int, col: int) -> Played:
        if self.mines is None:
            around = {cell, *neighbours(self.rows, self.cols)[cell]}
            free = [other for other in range(len(self.shown)) if other not in around]
            self._lay(frozenset(sample(self.rng, free, self.num_mines)))
        if self.counts[cell] == MINE:
            self.over = True
            return f"There is a mine at row {row}, column {col}. The episode ends.", 0.0, None
        if self.shown[cell] == FLAG:
            return f"Row {row}, column {col} has a flag; remove it before you open the cell.", 0.0, "rule"
        opened = self._open(cell)
        self._to_open -= opened
        reward = opened / (len(self.shown) - self.num_mines)
        text = f"You opened row {row}, column {col}: {self.counts[cell]}."
        if opened > 1:
            text += f" {opened} cells opened."
        if self._to_open == 0:
            self.over = self.solved = True
            text += " All cells without a mine are open."
        return text, reward, None

    def _lay(self, mines: frozenset[int]) -> None:
        near = neighbours(self.rows, self.cols)
        counts = [0] * len(near)
        for mine in mines:
            for cell in near[mine]:
                counts[cell] += 1
        for mine in mines:
            counts[mine] = MINE
        self.mines, self.counts = mines, counts

    def _open(self, cell: int) -> int:
        """Open the cell, and around every 0 its neighbours; flagged cells stay. How many were opened."""
        shown, counts, near = self.shown, self.counts, neighbours(self.rows, self.cols)
        bytes_shown, places = self._picture, picture(self.rows, self.cols)[1]
        self._mark(cell, _DIGITS[counts[cell]])
        opened = 1
        zeros = [] if counts[cell] else [cell]
        while zeros:
            for other in near[zeros.pop()]:
                if shown[other] == HIDDEN:
                    shown[other] = _DIGITS[counts[other]]
                    bytes_shown[places[other]] = 48 + counts[other]  # 48 is "0"
                    opened += 1
                    if not counts[other]:
                        zeros.append(other)
        return opened

    def _suffix(self) -> str:
        return self._picture.decode()

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
            "shown": "".join(self.shown),
            "last": self.last,
        }

    def _set_own_state(self, state: State) -> None:
        self.rows, self.cols, self.num_mines = state["rows"], state["cols"], state["num_mines"]
        self._show(list(state["shown"]))
        self.last = state["last"]
        self.mines, self.counts = None, []
        if state["mines"] is not None:
            self._lay(frozenset(state["mines"]))
        closed = self.shown.count(HIDDEN) + self.shown.count(FLAG)
        self._to_open = closed - self.num_mines

    def view(self, seat: int = 0) -> GridView:
        """The board as it is seen; once the episode is lost, with the mines."""
        self._expect_begun()
        cols = self.cols
        cells = [self._cell(cell) for cell in range(len(self.shown))]
        return GridView(
            kind="grid",
            name=f"Minesweeper, {self.rows} rows, {cols} columns",
            rows=[cells[i : i + cols] for i in range(0, len(cells), cols)],
            coords=True,
            facts=[("Mines left", str(self.num_mines - self.shown.count(FLAG)))],
            legend=[("click", "open"), ("right click", "flag"), ("Enter", "open"), ("F", "flag")],
        )

    def _cell(self, index: int) -> Cell:
        row, col = divmod(index, self.cols)
        place, shown = f"Row {row}, column {col}", self.shown[index]
        mined = self.over and self.mines is not None and index in self.mines
        if mined and index == self.last and not self.solved:
            cell = Cell(tone="bad", label=f"{place}: the mine that was opened", piece="mine")
        elif shown == FLAG:
            wrong = self.over and self.mines is not None and not mined
            cell = Cell(tone="hidden", label=f"{place}: {'wrong flag' if wrong else 'flag'}", piece="flag")
            if wrong:
                cell["tone"] = "bad"
        elif mined:
            cell = Cell(tone="hidden", label=f"{place}: mine", piece="mine")
        elif shown == HIDDEN:
            cell = Cell(tone="hidden", label=f"{place}: unopened")
        else:
            cell = Cell(tone="open", label=f"{place}: {shown}")
            if shown != "0":
                cell["text"], cell["n"] = shown, int(shown)
        if not self.over and shown == HIDDEN:
            cell["act"] = f"\\boxed{{reveal {row} {col}}}"
        if not self.over and shown in {HIDDEN, FLAG}:
            cell["alt"] = f"\\boxed{{flag {row} {col}}}"
        if index == self.last:
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
def picture(rows: int, cols: int) -> tuple[bytes, tuple[int, ...]]:
    """The text under an unopened board, in ASCII, and where in it each cell is."""
    lines = ["    " + " ".join(f"{col:2}" for col in range(cols))]
    lines += [f"{row:2}  {'  '.join(HIDDEN * cols)}" for row in range(rows)]
    text = "\n".join([*lines, Minesweeper.prompt])
    return text.encode("ascii"), tuple(at for at, character in enumerate(text) if character == HIDDEN)


_DIGITS = "012345678"

register("game:Minesweeper-v0", Minesweeper)
register("game:Minesweeper-v0-easy", Minesweeper, rows=5, cols=5, num_mines=5, max_turns=25)
register("game:Minesweeper-v0-hard", Minesweeper, rows=8, cols=8, num_mines=12, max_turns=64)
register("game:Minesweeper-v0-random", Minesweeper, rows=None, cols=None, num_mines=None, max_turns=None)
