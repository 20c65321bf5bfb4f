r"""Slide numbered tiles into order, using the one gap in the board.

Rules:
    A board of `num_rows` by `num_rows` cells holds the tiles 1, 2, 3 ... and a gap. A turn slides a tile beside the
    gap into it. The problem is solved when the tiles stand in order, row by row, with the gap in the last cell. Every
    start can be solved within the turn limit. A move towards the gap from outside the board uses up a turn.

Actions:
    `\boxed{up}`, `\boxed{down}`, `\boxed{left}` or `\boxed{right}`, in small letters: the way that the tile moves.

Rewards:
    1 for the solution, 0 for any other move. At the turn limit the last turn earns the share of the cells, gap
    included, that are as they should be. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:FifteenPuzzle-v0`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from gem.core import State
from gem.envs.game import Game, Played
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import RandomSource, SplitMix64, choice
from gem.views import Cell, GridView

RANDOM_SIZES = [(2, 10), (3, 20), (4, 50)]
"""Rows and turns among which the `random` difficulty chooses."""
WALK_SHARE = 0.8
"""The start of a larger board is so many of the turns away at most, which leaves some for detours."""
LONGEST_WALK = 100
MAX_ROWS = 8
GAP = 0
ARROWS = {"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight"}

Board = tuple[int, ...]
"""The tiles row by row, GAP for the gap."""


@dataclass(frozen=True, slots=True)
class Config:
    """None in either draws both anew for each episode, as the `random` difficulty does."""

    num_rows: int | None
    max_turns: int | None


class FifteenPuzzle(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(up|down|left|right)}")
    prompt = "Enter your move."

    def __init__(self, num_rows: int | None = 2, max_turns: int | None = 10, seed: int | None = None) -> None:
        super().__init__(seed)
        if num_rows is not None and not 2 <= num_rows <= MAX_ROWS:
            raise InvalidArgument(f"num_rows must be from 2 to {MAX_ROWS}, not {num_rows}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(num_rows, max_turns)
        self.num_rows = 0
        self.board: list[int] = []
        """The tiles row by row, GAP for the gap."""
        self.last = -1
        """The cell into which a tile moved last."""

    def _draw(self) -> None:
        config = self.config
        if config.num_rows is None or config.max_turns is None:
            self.num_rows, self.max_turns = choice(self.rng, RANDOM_SIZES)
        else:
            self.num_rows, self.max_turns = config.num_rows, config.max_turns
        if self.num_rows == 2:
            self.board = list(choice(self.rng, _small_boards(self.max_turns)))
        else:
            self.board = _walk(self.rng, self.num_rows, min(math.ceil(WALK_SHARE * self.max_turns), LONGEST_WALK))
        self.last = -1

    def _instructions(self) -> str:
        tiles = len(self.board) - 1
        return (
            f"This is a sliding puzzle with the tiles 1 to {tiles} on {self.num_rows} by {self.num_rows} cells and one "
            "gap, written '__'. Bring the tiles into order, row by row, with the gap in the last cell, in at most "
            f"{self.max_turns} moves. A move slides a tile beside the gap into it: 'up' the tile below the gap, 'down' "
            "the one above it, 'left' the one to its right, 'right' the one to its left.\n"
            "Put your move into \\boxed{}, for example \\boxed{up}."
        )

    def _play(self, match: str) -> Played:
        board = self.board
        gap = board.index(GAP)
        source = slides(self.num_rows)[gap].get(match)
        if source is None:
            return f"No tile can move {match}: the gap is at the edge.", 0.0, "rule"
        tile = board[gap] = board[source]
        board[source] = GAP
        self.last = gap
        if not board[-1] and board == goal(self.num_rows):
            self.over = self.solved = True
            return f"You moved tile {tile} {match}. All tiles are in order.", 1.0, None
        return f"You moved tile {tile} {match}.", 0.0, None

    def _reward_at_limit(self, reward: float) -> float:
        right = sum(tile == wanted for tile, wanted in zip(self.board, goal(self.num_rows), strict=True))
        return reward + right / len(self.board)

    def _suffix(self) -> str:
        rows, texts = self.num_rows, [_TEXTS[tile] for tile in self.board]
        lines = [" ".join(texts[i : i + rows]) for i in range(0, len(texts), rows)]
        return "\n".join(lines) + f"\n{self.prompt}"

    def _format_help(self) -> str:
        return (
            "There is no move in your answer. Write it as \\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}. "
            "The episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, list(slides(self.num_rows)[self.board.index(GAP)]))}}}"

    def _get_own_state(self) -> State:
        return {"num_rows": self.num_rows, "board": list(self.board), "last": self.last}

    def _set_own_state(self, state: State) -> None:
        self.num_rows = state["num_rows"]
        self.board = list(state["board"])
        self.last = state["last"]

    def view(self, seat: int = 0) -> GridView:
        """The board; the tiles beside the gap can be clicked."""
        self._expect_begun()
        rows, gap = self.num_rows, self.board.index(GAP)
        ways = {source: way for way, source in slides(rows)[gap].items()}
        cells = [self._cell(index, ways.get(index)) for index in range(len(self.board))]
        right = sum(tile == wanted for tile, wanted in zip(self.board, goal(rows), strict=True))
        view = GridView(
            kind="grid",
            name=f"Sliding puzzle, {rows} rows, {rows} columns",
            rows=[cells[i : i + rows] for i in range(0, len(cells), rows)],
            size="l",
            facts=[("In place", f"{right} of {len(self.board)}")],
            legend=[("click", "slide a tile beside the gap"), ("arrow keys", "slide that way")],
        )
        if not self.over:
            view["keys"] = {ARROWS[way]: f"\\boxed{{{way}}}" for way in ways.values()}
        return view

    def _cell(self, index: int, way: str | None) -> Cell:
        row, col = divmod(index, self.num_rows)
        place, tile = f"Row {row + 1}, column {col + 1}", self.board[index]
        if tile == GAP:
            return Cell(tone="void", label=f"{place}: the gap")
        cell = Cell(tone="found" if self.solved else "tile", label=f"{place}: {tile}", text=str(tile))
        if way is not None and not self.over:
            cell["act"] = f"\\boxed{{{way}}}"
            cell["label"] += f", can move {way}"
        if index == self.last:
            cell["last"] = True
        return cell


@lru_cache(maxsize=MAX_ROWS)
def goal(rows: int) -> list[int]:
    """The solved board; not to be changed."""
    return [*range(1, rows * rows), GAP]


@lru_cache(maxsize=MAX_ROWS)
def slides(rows: int) -> list[dict[str, int]]:
    """For each cell of the gap: the ways in which a tile can move into it, each with the cell that tile is in."""
    last = rows - 1
    return [
        {
            way: gap + step
            for way, step, possible in (
                ("up", rows, gap // rows < last),
                ("down", -rows, gap >= rows),
                ("left", 1, gap % rows < last),
                ("right", -1, gap % rows > 0),
            )
            if possible
        }
        for gap in range(rows * rows)
    ]


def slide(board: Board, source: int) -> Board:
    """The board after the tile in cell `source` moved into the gap."""
    after = list(board)
    after[board.index(GAP)], after[source] = after[source], GAP
    return tuple(after)


def _walk(rng: RandomSource, rows: int, length: int) -> list[int]:
    """The board after that many random moves from the goal, none of which takes the one before it back."""
    board, gap, before = list(goal(rows)), rows * rows - 1, -1
    while board == goal(rows):
        for _ in range(length):
            source = choice(rng, [cell for cell in slides(rows)[gap].values() if cell != before])
            board[gap], board[source] = board[source], GAP
            before, gap = gap, source
    return board


@lru_cache(maxsize=8)
def _small_boards(most_moves: int) -> list[Board]:
    """The boards of two rows that 1 to `most_moves` moves solve; at most 11."""
    seen = layer = [tuple(goal(2))]
    for _ in range(most_moves):
        after = {slide(board, source) for board in layer for source in slides(2)[board.index(GAP)].values()}
        layer = sorted(after.difference(seen))
        seen = seen + layer
    return seen[1:]


_TEXTS = ["__", *(f"{tile:2}" for tile in range(1, MAX_ROWS * MAX_ROWS))]

register("game:FifteenPuzzle-v0", FifteenPuzzle)
register("game:FifteenPuzzle-v0-easy", FifteenPuzzle, num_rows=2, max_turns=10)
register("game:FifteenPuzzle-v0-hard", FifteenPuzzle, num_rows=4, max_turns=50)
register("game:FifteenPuzzle-v0-random", FifteenPuzzle, num_rows=None, max_turns=None)
