"""FifteenPuzzle: a shortest solution where the search finds one, otherwise a short one.

The search is A*, guided by what is needed at least: each tile is its distance from its place away, and two tiles of a
row (or column) that both belong there in the other order take two moves more (linear conflict; Hansson, Mayer and
Yung 1992). Where that looks at too many boards, moves to go count more than moves made (weighted A*; Pohl 1970),
which is quick and a little longer. It stops on a count of boards, never on time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations

from gem.agents.agent import Decision
from gem.envs.games.fifteen_puzzle import GAP, Board, FifteenPuzzle, goal, slide, slides

ALL_BOARDS_OF_THREE_ROWS = 181_440
ATTEMPTS = ((1.0, 3_000), (1.5, 20_000), (3.0, 20_000))
"""How much a move to go counts, and how many boards may be looked at; the first finds a shortest solution."""


def slide_shortest(env: FifteenPuzzle) -> Decision:
    """The first move of the solution found."""
    board = tuple(env.board)
    path, note = solve(board, env.num_rows)
    way = next(way for way, source in slides(env.num_rows)[board.index(GAP)].items() if source == path[0])
    return Decision(f"\\boxed{{{way}}}", f"Tile {board[path[0]]} moves {way}. {note}")


@lru_cache(maxsize=256)
def solve(board: Board, rows: int) -> tuple[list[int], str]:
    """The cells whose tiles move, one after the other, and in words what is known of the way."""
    for greed, most in ATTEMPTS:
        path = _search(board, rows, greed, most if rows > 3 else ALL_BOARDS_OF_THREE_ROWS)
        if path is not None:
            if len(path) == 1:
                return path, "That solves it."
            return path, f"{len(path)} moves to the solution{', and no way is shorter.' if greed == 1 else '.'}"
    gap = board.index(GAP)
    nearest = min(slides(rows)[gap].values(), key=lambda source: estimate(slide(board, source), rows))
    return [nearest], "It brings the tiles nearer to their places."


def _search(board: Board, rows: int, greed: float, most: int) -> list[int] | None:
    """A solution, or None if `most` boards were not enough."""
    solved = tuple(goal(rows))
    start = estimate(board, rows)
    heap = [(greed * start, start, 0, board)]
    reached: dict[Board, tuple[int, Board]] = {board: (0, board)}  # in how many moves, and from which board
    for _ in range(most):
        if not heap:
            break
        _, left, made, at = heappop(heap)
        if at == solved:
            return _trace(reached, at)
        if reached[at][0] < made:
            continue
        gap = at.index(GAP)
        for source in slides(rows)[gap].values():
            after = slide(at, source)
            if after not in reached or reached[after][0] > made + 1:
                reached[after] = (made + 1, at)
                change = sum(cost(after[cells]) - cost(at[cells]) for cells, cost in _lines_across(rows, gap, source))
                heappush(heap, (made + 1 + greed * (left + change), left + change, made + 1, after))
    return None


def _trace(reached: dict[Board, tuple[int, Board]], board: Board) -> list[int]:
    path = []
    while reached[board][0]:
        before = reached[board][1]
        path.append(board.index(GAP))  # the gap went to where the tile was
        board = before
    return path[::-1]


def estimate(board: Board, rows: int) -> int:
    """At least how many moves the board needs."""
    lines = [_row(rows, i) for i in range(rows)] + [_column(rows, i) for i in range(rows)]
    return sum(cost(board[cells]) for cells, cost in lines)


Line = tuple[slice, Callable[[Board], int]]
"""Where the cells of a row or column are, and at least how many moves its tiles need across it."""


@lru_cache(maxsize=1024)
def _lines_across(rows: int, gap: int, source: int) -> tuple[Line, Line]:
    """The two lines that a move between these cells changes: the columns if it stays in its row, or the rows."""
    if gap // rows == source // rows:
        return _column(rows, gap % rows), _column(rows, source % rows)
    return _row(rows, gap // rows), _row(rows, source // rows)


@lru_cache(maxsize=64)
def _row(rows: int, index: int) -> Line:
    @lru_cache(maxsize=65536)
    def cost(tiles: Board) -> int:
        away = sum(abs((tile - 1) // rows - index) for tile in tiles if tile)
        return away + 2 * _conflicts([tile for tile in tiles if tile and (tile - 1) // rows == index])

    return slice(index * rows, index * rows + rows), cost


@lru_cache(maxsize=64)
def _column(rows: int, index: int) -> Line:
    @lru_cache(maxsize=65536)
    def cost(tiles: Board) -> int:
        away = sum(abs((tile - 1) % rows - index) for tile in tiles if tile)
        return away + 2 * _conflicts([tile for tile in tiles if tile and (tile - 1) % rows == index])

    return slice(index, rows * rows, rows), cost


def _conflicts(tiles: list[int]) -> int:
    """How many tiles have to leave the line so that the others stand in order."""
    in_order = next(
        size
        for size in range(len(tiles), -1, -1)
        if any(list(some) == sorted(some) for some in combinations(tiles, size))
    )
    return len(tiles) - in_order
