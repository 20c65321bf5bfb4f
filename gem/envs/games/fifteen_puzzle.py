r"""Slide numbered tiles into order, using the one gap in the board.

Rules:
    A board of `num_rows` by `num_rows` cells holds the tiles 1, 2, 3 ... and a gap. A turn slides a tile next to the
    gap into it. The puzzle is solved when the tiles are in order, row by row, with the gap in the last cell. Every
    board can be solved within the turn limit. If no tile can move in the direction named, because the gap is at the
    edge, the turn is used up.

Actions:
    `\boxed{up}`, `\boxed{down}`, `\boxed{left}` or `\boxed{right}`, in lower case: the direction in which the tile
    moves.

Rewards:
    1 for the solution, 0 for any other move. If the turn limit ends the episode, the last turn earns the share of the
    cells, gap included, that have the right content. -0.1 for an action that cannot be parsed, which ends the episode.

Arguments:
    - `init_algo`: how a board is mixed, if not as above: `monte_carlo`, by `mc_rand_moves` random moves, or
      `pure_random`, any board that can be solved, however many moves that takes.

Source:
    GEM (arXiv 2510.01051), `game:FifteenPuzzle-v0`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import RandomSource, SplitMix64, choice, sample
from gem.views import Cell, GridView

RANDOM_PARAMETERS = [(2, 10), (3, 20), (4, 50)]
"""Pairs of rows and turn limit from which the `random` difficulty draws."""
MAX_WALK_SHARE = 0.8
"""A board of more than two rows is mixed by at most this share of the turn limit, which leaves turns for detours."""
MAX_WALK_MOVES = 100
"""A board of more than two rows is mixed by at most this many moves."""
MAX_MIXING_MOVES = 10_000
"""The largest `mc_rand_moves`."""
MAX_ROWS = 8
MAX_SMALL_MOVES = 6
"""No board of two rows needs more moves."""
GAP = 0
ARROW_KEYS = {"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight"}

InitAlgo = Literal["monte_carlo", "pure_random"]
Board = tuple[int, ...]
"""The tiles row by row, GAP for the gap."""


@dataclass(frozen=True, slots=True)
class Config:
    """If either is None, both are drawn for each episode, as in the `random` difficulty."""

    num_rows: int | None
    max_turns: int | None
    init_algo: InitAlgo | None
    mc_rand_moves: int


class FifteenPuzzle(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(up|down|left|right)}")
    prompt = "Enter your move."

    def __init__(
        self,
        num_rows: int | None = 2,
        max_turns: int | None = 10,
        init_algo: InitAlgo | None = None,
        mc_rand_moves: int = 100,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if num_rows is not None and not 2 <= num_rows <= MAX_ROWS:
            raise InvalidArgument(f"num_rows must be from 2 to {MAX_ROWS}, not {num_rows}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        if init_algo not in (None, *get_args(InitAlgo)):
            raise InvalidArgument(f"init_algo must be one of {', '.join(get_args(InitAlgo))}, not {init_algo!r:.40}.")
        if not 1 <= mc_rand_moves <= MAX_MIXING_MOVES:
            raise InvalidArgument(f"mc_rand_moves must be from 1 to {MAX_MIXING_MOVES}, not {mc_rand_moves}.")
        self.config = Config(num_rows, max_turns, init_algo, mc_rand_moves)
        self.max_turns = 0 if num_rows is None else max_turns or 0
        self.num_rows = 0
        self.board: list[int] = []
        """The tiles row by row, GAP for the gap."""
        self.last = -1
        """The cell into which the last move brought a tile, -1 before the first move."""

    def _draw(self) -> None:
        config = self.config
        if config.num_rows is None or config.max_turns is None:
            self.num_rows, self.max_turns = choice(self.rng, RANDOM_PARAMETERS)
        else:
            self.num_rows, self.max_turns = config.num_rows, config.max_turns
        if config.init_algo == "monte_carlo":
            self.board = _walk(self.rng, self.num_rows, config.mc_rand_moves)
        elif config.init_algo == "pure_random":
            self.board = _shuffle(self.rng, self.num_rows)
        elif self.num_rows == 2:
            self.board = list(choice(self.rng, _small_boards(self.max_turns)))
        else:
            self.board = _walk(self.rng, self.num_rows, min(math.ceil(MAX_WALK_SHARE * self.max_turns), MAX_WALK_MOVES))
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

    def _play(self, match: str) -> PlayResult:
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
        num_in_place = sum(tile == goal_tile for tile, goal_tile in zip(self.board, goal(self.num_rows), strict=True))
        return reward + num_in_place / len(self.board)

    def _suffix(self) -> str:
        rows, texts = self.num_rows, [_TILE_TEXTS[tile] for tile in self.board]
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
        """The board. A click on a tile next to the gap moves it."""
        self._require_reset()
        rows, gap = self.num_rows, self.board.index(GAP)
        moves = {source: move for move, source in slides(rows)[gap].items()}
        cells = [self._cell(index, moves.get(index)) for index in range(len(self.board))]
        num_in_place = sum(tile == goal_tile for tile, goal_tile in zip(self.board, goal(rows), strict=True))
        view = GridView(
            kind="grid",
            name=f"Sliding puzzle, {rows} rows, {rows} columns",
            rows=[cells[i : i + rows] for i in range(0, len(cells), rows)],
            size="l",
            facts=[("In place", f"{num_in_place} of {len(self.board)}")],
            legend=[("click", "slide a tile beside the gap"), ("arrow keys", "slide that way")],
        )
        if not self.over:
            view["keys"] = {ARROW_KEYS[move]: f"\\boxed{{{move}}}" for move in moves.values()}
        return view

    def _cell(self, index: int, move: str | None) -> Cell:
        row, col = divmod(index, self.num_rows)
        position, tile = f"Row {row + 1}, column {col + 1}", self.board[index]
        if tile == GAP:
            return Cell(tone="void", label=f"{position}: the gap")
        cell = Cell(tone="found" if self.solved else "tile", label=f"{position}: {tile}", text=str(tile))
        if move is not None and not self.over:
            cell["act"] = f"\\boxed{{{move}}}"
            cell["label"] += f", can move {move}"
        if index == self.last:
            cell["last"] = True
        return cell


@lru_cache(maxsize=MAX_ROWS)
def goal(rows: int) -> list[int]:
    """The solved board. The list is cached, so do not change it."""
    return [*range(1, rows * rows), GAP]


@lru_cache(maxsize=MAX_ROWS)
def slides(rows: int) -> list[dict[str, int]]:
    """For each cell that the gap may be in, the possible moves, each with the cell of the tile that moves."""
    last = rows - 1
    return [
        {
            move: gap + step
            for move, step, possible in (
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
    """The board after the tile in cell `source` has moved into the gap."""
    result = list(board)
    result[board.index(GAP)], result[source] = result[source], GAP
    return tuple(result)


def _walk(rng: RandomSource, rows: int, length: int) -> list[int]:
    """The board after `length` random moves from the solved one, none of which undoes the move before it.

    If these lead back to the solved board, further ones follow.
    """
    board, gap, previous_gap = list(goal(rows)), rows * rows - 1, -1
    while board == goal(rows):
        for _ in range(length):
            source = choice(rng, [cell for cell in slides(rows)[gap].values() if cell != previous_gap])
            board[gap], board[source] = board[source], GAP
            previous_gap, gap = gap, source
        length = 1 if board == goal(rows) else length
    return board


def _shuffle(rng: RandomSource, rows: int) -> list[int]:
    """A board that can be solved and is not, all equally likely, with the gap in the last cell."""
    tiles = goal(rows)[:-1]
    while tiles == goal(rows)[:-1]:
        tiles = sample(rng, tiles, len(tiles))
        num_inversions = sum(tiles[i] > tiles[k] for i in range(len(tiles)) for k in range(i + 1, len(tiles)))
        if num_inversions % 2:
            tiles[0], tiles[1] = tiles[1], tiles[0]
    return [*tiles, GAP]


@lru_cache(maxsize=8)
def _small_boards(max_moves: int) -> list[Board]:
    """The boards of two rows that can be solved in 1 to `max_moves` moves."""
    boards = layer = [tuple(goal(2))]
    for _ in range(min(max_moves, MAX_SMALL_MOVES)):
        next_boards = {slide(board, source) for board in layer for source in slides(2)[board.index(GAP)].values()}
        layer = sorted(next_boards.difference(boards))
        boards = boards + layer
    return boards[1:]


_TILE_TEXTS = ["__", *(f"{tile:2}" for tile in range(1, MAX_ROWS * MAX_ROWS))]

register("game:FifteenPuzzle-v0", FifteenPuzzle, cost="fast")
register("game:FifteenPuzzle-v0-easy", FifteenPuzzle, cost="fast", num_rows=2, max_turns=10)
register("game:FifteenPuzzle-v0-hard", FifteenPuzzle, cost="fast", num_rows=4, max_turns=50)
register("game:FifteenPuzzle-v0-random", FifteenPuzzle, cost="fast", num_rows=None, max_turns=None)
