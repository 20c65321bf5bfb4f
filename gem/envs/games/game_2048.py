r"""Slide the tiles of a 4 by 4 board, so that equal ones merge, until one tile reaches the target.

Rules:
    A move slides every tile as far as it goes; two equal tiles that meet become one of twice the value, and a tile
    merges at most once in a move. After each move that changes the board a new tile appears in an empty cell, drawn
    uniformly: a 2 with probability 0.9, else a 4. The episode begins with two such tiles. It is solved when a tile
    reaches `target_tile`, and lost when no move changes the board. A move that changes nothing uses up a turn.

Actions:
    `\boxed{up}`, `\boxed{down}`, `\boxed{left}` or `\boxed{right}`.

Rewards:
    The doublings by which the largest tile has grown in this turn, divided by the doublings from the largest tile of
    the first board to the target: 1 in all for a solved board. A tile that appears counts with the next move that
    changes the board. 0 for a move that changes nothing. -0.1 for an action that cannot be parsed, which ends the
    episode.

Limits:
    Each move adds 2.2 to the sum of the tiles on average, so 512 takes more than 200 turns and 2048 more than 900.
    `-v0-hard` and `-v0-extreme-hard` keep the 50 and 100 turns of GEM and cannot be solved; the `-v1` ids can.

Arguments:
    - `board_size`: the number of rows and columns, from 2 to 8; 4 in all ids.

Source:
    GEM (arXiv 2510.01051), `game:Game2048-v0`; the game 2048 by Gabriele Cirulli.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randbelow
from gem.views import Cell, GridView

SIZE = 4
"""Rows and columns of a board by default."""
SIZES = range(2, 9)
"""The numbers of rows and columns that a board may have."""
FOUR_PROBABILITY = 0.1
MAX_TARGET = 2**17
"""The largest target: the largest tile that a board of 16 cells can hold."""
RANDOM_PARAMETERS = ((16, 20), (32, 30), (64, 50))
"""Pairs of target tile and turn limit from which the `random` difficulty draws."""
MOVES = ("up", "down", "left", "right")

Row = tuple[int, ...]
"""The exponents of two in a row or column, 0 for an empty cell."""


class TileLine:
    """A row or column of tiles with everything that a turn needs to know of it.

    Each line is worked out once and kept in `LINES`, so that a turn takes a few look-ups.
    """

    __slots__ = ("empty", "highest", "left", "right", "row", "text", "with_tile")

    def __init__(self, row: Row) -> None:
        (LINES if len(row) <= SIZE else LONG_LINES)[row] = self  # before looking up `left` and `right`, which may be it
        self.row = row
        self.text = "".join(f"{1 << power if power else '.':>7}" for power in row)
        self.empty = row.count(0)
        self.highest = max(row)
        left, right = slide(row), slide(row[::-1])[::-1]
        self.left: TileLine = self if left == row else LINES[left]
        self.right: TileLine = self if right == row else LINES[right]
        self.with_tile: dict[int, tuple[TileLine, int]] = {}
        """A cache of `place_tile`: the lines that a new tile makes of this one."""


class _LineCache(dict[Row, TileLine]):
    def __missing__(self, row: Row) -> TileLine:
        return LONG_LINES.get(row) or TileLine(row)


LINES = _LineCache()
"""All lines of up to four cells that have occurred, of which there are at most 88,740; others are in `LONG_LINES`."""
LONG_LINES: dict[Row, TileLine] = {}
"""Longer lines, which are forgotten when there are many, and then made again."""
MAX_LONG_LINES = 100_000


def slide(row: Row) -> Row:
    """The row after its tiles have moved to the front and merged."""
    merged: list[int] = []
    may_merge = False
    for power in row:
        if not power:
            continue
        if may_merge and merged[-1] == power:
            merged[-1] += 1
            may_merge = False
        else:
            merged.append(power)
            may_merge = True
    return (*merged, *(0,) * (len(row) - len(merged)))


def slide_board(board: list[TileLine], move: str) -> list[TileLine]:
    """The board after a move, before a new tile appears."""
    if move == "left":
        return [line.left for line in board]
    if move == "right":
        return [line.right for line in board]
    if len(board) == SIZE:
        a, b, c, d = board
        columns = zip(a.row, b.row, c.row, d.row)  # noqa: B905 (strict costs a tenth of a turn)
    else:
        columns = zip(*[line.row for line in board], strict=True)
    if move == "up":
        rows = zip(*[LINES[column].left.row for column in columns])  # noqa: B905
    else:
        rows = zip(*[LINES[column].right.row for column in columns])  # noqa: B905
    if len(board) == SIZE:
        return [LINES[row] for row in rows]
    return [line if line.row == row else LINES[row] for line, row in zip(board, rows, strict=True)]


def place_tile(line: TileLine, empty_index: int, power: int) -> tuple[TileLine, int]:
    """The line with a new tile (`power` is its exponent) in an empty cell, and the column of that cell.

    `empty_index` counts the empty cells of the line from 0.
    """
    key = 2 * empty_index + power
    result = line.with_tile.get(key)
    if result is None:
        column = [i for i, power_there in enumerate(line.row) if not power_there][empty_index]
        result = LINES[(*line.row[:column], power, *line.row[column + 1 :])], column
        line.with_tile[key] = result
    return result


@dataclass(frozen=True, slots=True)
class Config:
    """A value that is None is drawn for each episode, as in the `random` difficulty."""

    target_tile: int | None
    max_turns: int | None
    board_size: int


class Game2048(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(up|down|left|right)}", re.IGNORECASE | re.ASCII)
    prompt = "Which way do you move?"

    def __init__(
        self,
        target_tile: int | None = 64,
        max_turns: int | None = 50,
        board_size: int = SIZE,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if board_size not in SIZES:
            raise InvalidArgument(f"board_size must be from {SIZES[0]} to {SIZES[-1]}, not {board_size}.")
        largest = min(MAX_TARGET, 2 ** (board_size * board_size + 1))
        if target_tile is not None and (target_tile not in range(8, largest + 1) or target_tile.bit_count() != 1):
            raise InvalidArgument(f"target_tile must be a power of two from 8 to {largest}, not {target_tile}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(target_tile, max_turns, board_size)
        self.max_turns = max_turns or 0
        self.target = 0
        """The exponent of the target tile."""
        self.board: list[TileLine] = [LINES[(0,) * board_size]] * board_size
        self.best = self.first_best = 0
        """The exponents of the largest tile rewarded so far and of the largest tile of the first board."""
        self.last = -1
        """The cell of the newest tile, counted row by row."""

    def _draw(self) -> None:
        config = self.config
        target, turns = choice(self.rng, RANDOM_PARAMETERS)
        if config.target_tile is not None:
            target = config.target_tile
        self.target = target.bit_length() - 1
        self.max_turns = turns if config.max_turns is None else config.max_turns
        if len(LONG_LINES) > MAX_LONG_LINES:
            LONG_LINES.clear()
        self.board = [LINES[(0,) * config.board_size]] * config.board_size
        self._add_tile()
        self._add_tile()
        self.best = self.first_best = max(line.highest for line in self.board)

    def _instructions(self) -> str:
        size = len(self.board)
        return (
            f"This is 2048 with the target {1 << self.target}. A move slides all tiles of the {size} by {size} board "
            "in one direction; two equal tiles that meet merge into one of twice the value. After each move that "
            f"changes the board a new 2 or 4 appears. Make a tile of {1 << self.target} in at most {self.max_turns} "
            "turns; you lose when no move changes the board.\n"
            "Write \\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}. On the board, '.' is an empty cell."
        )

    def _play(self, match: str) -> PlayResult:
        move = match.lower()
        board = slide_board(self.board, move)
        if board == self.board:
            return f"Moving {move} changes nothing.", 0.0, "rule"
        self.board = board
        if len(board) == SIZE:
            a, b, c, d = board
            highest = max(a.highest, b.highest, c.highest, d.highest)
        else:
            highest = max(line.highest for line in board)
        reward = 0.0
        if highest > self.best:
            reached = min(highest, self.target)
            reward = (reached - self.best) / (self.target - self.first_best)
            self.best = reached
        self._add_tile()
        if highest >= self.target:
            self.over = self.solved = True
            return f"You moved {move} and made a tile of {1 << highest}.", reward, None
        if self._is_stuck():
            self.over = True
            return f"You moved {move}. No move changes the board any more; the episode ends.", reward, None
        return f"You moved {move}.", reward, None

    def _add_tile(self) -> None:
        """Put a new tile into an empty cell, drawn uniformly."""
        board, random = self.board, self.rng.random
        if len(board) == SIZE:
            a, b, c, d = board
            num_empty = a.empty + b.empty + c.empty + d.empty
        else:
            num_empty = sum(line.empty for line in board)
        empty_index = int(random() * num_empty)
        row = 0
        while empty_index >= board[row].empty:
            empty_index -= board[row].empty
            row += 1
        board[row], column = place_tile(board[row], empty_index, 2 if random() < FOUR_PROBABILITY else 1)
        self.last = row * len(board) + column

    def _is_stuck(self) -> bool:
        board = self.board
        for line in board:
            if line.empty or line.left is not line:
                return False
        return slide_board(board, "up") == board

    def _suffix(self) -> str:
        if len(self.board) == SIZE:
            a, b, c, d = self.board
            return f"{a.text}\n{b.text}\n{c.text}\n{d.text}\n{self.prompt}"
        return "\n".join(line.text for line in self.board) + f"\n{self.prompt}"

    def _format_help(self) -> str:
        return (
            "There is no move in your answer. Write it as \\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}. "
            "The episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{MOVES[randbelow(rng, 4)]}}}"

    def _get_own_state(self) -> State:
        return {
            "target": self.target,
            "board": [list(line.row) for line in self.board],
            "best": self.best,
            "first_best": self.first_best,
            "last": self.last,
        }

    def _set_own_state(self, state: State) -> None:
        self.target = state["target"]
        self.board = [LINES[tuple(row)] for row in state["board"]]
        self.best, self.first_best = state["best"], state["first_best"]
        self.last = state["last"]

    def view(self, seat: int = 0) -> GridView:
        """The board. The arrow keys slide the tiles."""
        size = len(self.board)
        view = GridView(
            kind="grid",
            name=f"2048, {size} rows, {size} columns",
            rows=[[self._cell(row, column) for column in range(size)] for row in range(size)],
            size="l",
            facts=[
                ("Target", str(1 << self.target)),
                ("Largest tile", str(1 << max(line.highest for line in self.board))),
            ],
            legend=[("arrow keys", "move all tiles")],
        )
        if not self.over:
            view["keys"] = {f"Arrow{move.capitalize()}": f"\\boxed{{{move}}}" for move in MOVES}
        return view

    def _cell(self, row: int, column: int) -> Cell:
        power = self.board[row].row[column]
        position = f"Row {row + 1}, column {column + 1}"
        if not power:
            return Cell(tone="blank", label=f"{position}: empty")
        cell = Cell(tone="tile", label=f"{position}: {1 << power}", text=str(1 << power), power=power)
        if row * len(self.board) + column == self.last:
            cell["last"] = True
        return cell


register("game:Game2048-v0", Game2048, cost="fast")
register("game:Game2048-v0-easy", Game2048, cost="fast", target_tile=64, max_turns=50)
register("game:Game2048-v0-hard", Game2048, cost="fast", target_tile=512, max_turns=50, winnable=False)
register("game:Game2048-v0-extreme-hard", Game2048, cost="fast", target_tile=2048, max_turns=100, winnable=False)
register("game:Game2048-v0-random", Game2048, cost="fast", target_tile=None, max_turns=None)
register("game:Game2048-v1-hard", Game2048, cost="fast", target_tile=512, max_turns=400)
register("game:Game2048-v1-extreme-hard", Game2048, cost="fast", target_tile=2048, max_turns=1500)
