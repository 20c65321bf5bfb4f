"""The expert for FifteenPuzzle: it follows a shortest solution if the search finds one, otherwise a short one.

The search is A*. Its heuristic is a lower bound of the moves needed: the sum of the tiles' distances from their places,
and two more moves for each tile that has to leave its row (or column) to let another tile of this row pass (linear
conflict; Hansson, Mayer and Yung 1992). If the search visits too many boards, the heuristic gets a larger weight
(weighted A*; Pohl 1970), which is fast and finds solutions that are a little longer. The search is limited by a number
of boards, never by time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations

from gem.agents.agent import Decision
from gem.envs.games.fifteen_puzzle import GAP, Board, FifteenPuzzle, goal, slide, slides

NUM_BOARDS_OF_THREE_ROWS = 181_440
ATTEMPTS = ((1.0, 3_000), (1.5, 20_000), (3.0, 20_000))
"""The weight of the heuristic and the number of boards of four rows that may be visited.

Weight 1 finds a shortest solution. A larger board takes more work, so of larger ones fewer are visited.
"""


def slide_shortest(env: FifteenPuzzle) -> Decision:
    """Make the first move of the solution found."""
    board = tuple(env.board)
    path, note = solve(board, env.num_rows)
    move = next(move for move, source in slides(env.num_rows)[board.index(GAP)].items() if source == path[0])
    return Decision(f"\\boxed{{{move}}}", f"Tile {board[path[0]]} moves {move}. {note}")


@lru_cache(maxsize=256)
def solve(board: Board, rows: int) -> tuple[list[int], str]:
    """The cells whose tiles move, one after the other, and a note that says how good this solution is."""
    for weight, max_boards in ATTEMPTS:
        max_visited = max_boards * 16 // rows**2 if rows > 3 else NUM_BOARDS_OF_THREE_ROWS
        path = _search(board, rows, weight, max_visited)
        if path is not None:
            if len(path) == 1:
                return path, "That solves it."
            return path, f"{len(path)} moves to the solution{', and no way is shorter.' if weight == 1 else '.'}"
    gap = board.index(GAP)
    candidate = min(slides(rows)[gap].values(), key=lambda candidate: estimate(slide(board, candidate), rows))
    return [candidate], "It brings the tiles nearer to their places."


def _search(board: Board, rows: int, weight: float, max_boards: int) -> list[int] | None:
    """The cells whose tiles move, or None if `max_boards` boards were not enough to find a solution."""
    solved = tuple(goal(rows))
    start = estimate(board, rows)
    heap = [(weight * start, start, 0, board)]
    reached: dict[Board, tuple[int, Board]] = {board: (0, board)}  # in how many moves, and from which board
    for _ in range(max_boards):
        if not heap:
            break
        _, remaining, num_moves, current = heappop(heap)
        if current == solved:
            return _reconstruct_path(reached, current)
        if reached[current][0] < num_moves:
            continue
        gap = current.index(GAP)
        for source in slides(rows)[gap].values():
            next_board = slide(current, source)
            if next_board not in reached or reached[next_board][0] > num_moves + 1:
                reached[next_board] = (num_moves + 1, current)
                estimate_change = sum(
                    cost(next_board[cells]) - cost(current[cells]) for cells, cost in _lines_across(rows, gap, source)
                )
                heappush(
                    heap,
                    (
                        num_moves + 1 + weight * (remaining + estimate_change),
                        remaining + estimate_change,
                        num_moves + 1,
                        next_board,
                    ),
                )
    return None


def _reconstruct_path(reached: dict[Board, tuple[int, Board]], board: Board) -> list[int]:
    path = []
    while reached[board][0]:
        previous = reached[board][1]
        path.append(board.index(GAP))  # the gap went to where the tile was
        board = previous
    return path[::-1]


def estimate(board: Board, rows: int) -> int:
    """A lower bound of the number of moves that the board needs."""
    lines = [_row(rows, i) for i in range(rows)] + [_column(rows, i) for i in range(rows)]
    return sum(cost(board[cells]) for cells, cost in lines)


LineCost = tuple[slice, Callable[[Board], int]]
"""The cells of a row or column, and a function from its tiles to a lower bound of the moves they need across it."""


@lru_cache(maxsize=1024)
def _lines_across(rows: int, gap: int, source: int) -> tuple[LineCost, LineCost]:
    """The two lines whose costs a move between these cells changes: columns if the tile stays in its row, else rows."""
    if gap // rows == source // rows:
        return _column(rows, gap % rows), _column(rows, source % rows)
    return _row(rows, gap // rows), _row(rows, source // rows)


@lru_cache(maxsize=64)
def _row(rows: int, index: int) -> LineCost:
    @lru_cache(maxsize=65536)
    def cost(tiles: Board) -> int:
        distance = sum(abs((tile - 1) // rows - index) for tile in tiles if tile)
        return distance + 2 * _conflicts([tile for tile in tiles if tile and (tile - 1) // rows == index])

    return slice(index * rows, index * rows + rows), cost


@lru_cache(maxsize=64)
def _column(rows: int, index: int) -> LineCost:
    @lru_cache(maxsize=65536)
    def cost(tiles: Board) -> int:
        distance = sum(abs((tile - 1) % rows - index) for tile in tiles if tile)
        return distance + 2 * _conflicts([tile for tile in tiles if tile and (tile - 1) % rows == index])

    return slice(index, rows * rows, rows), cost


def _conflicts(tiles: list[int]) -> int:
    """The number of tiles that have to leave the line so that the others are in order."""
    num_in_order = next(
        size
        for size in range(len(tiles), -1, -1)
        if any(list(subset) == sorted(subset) for subset in combinations(tiles, size))
    )
    return len(tiles) - num_in_order
