"""The expert for 2048: an expectimax search, which values a move by the average over the tiles that may appear next.

The search depth is chosen so that the number of boards stays within a bound; a decision never depends on time. A leaf
is scored line by line. Empty cells and equal neighbours are good; values that rise and fall along a line, and many
tiles of medium size, are bad.
"""

from __future__ import annotations

from itertools import pairwise

from gem.agents.agent import Decision
from gem.envs.games.game_2048 import FOUR_PROBABILITY, LINES, MOVES, Game2048, Row, TileLine, place_tile, slide_board

MAX_BOARDS = 4000
"""About how many boards the search for one decision may visit."""
MAX_DEPTH = 4
"""The largest search depth, in moves."""
LOST_VALUE = -1e6
EMPTY_WEIGHT, PAIR_WEIGHT, ORDER_WEIGHT, CROWD_WEIGHT = 500.0, 100.0, 10.0, 100.0
ORDER_POWER, CROWD_POWER = 3.0, 2.5
"""Weights and powers in the score of a leaf, found by random search on `-v0-easy` and `-v1-extreme-hard`."""

ValueCache = dict[tuple[tuple[TileLine, ...], int], float]


def expectimax(env: Game2048) -> Decision:
    """Make the move with the highest expected value."""
    depth = _depth(sum(line.empty for line in env.board))
    cache: ValueCache = {}
    values: dict[str, float] = {}
    for move in MOVES:
        board = slide_board(env.board, move)
        if board == env.board:
            continue
        if max(line.highest for line in board) >= env.target:
            return Decision(f"\\boxed{{{move}}}", f"Moving {move} makes a tile of {1 << env.target}.")
        values[move] = _expected_value(board, depth - 1, cache)
    best = max(values, key=values.__getitem__)
    return Decision(
        f"\\boxed{{{best}}}",
        f"{best.capitalize()} leaves the best board on average over the tiles to come, "
        f"looking {depth} moves ahead: {', '.join(f'{m} {v:.0f}' for m, v in values.items())}.",
    )


def _depth(empty: int) -> int:
    """The largest search depth for which the number of boards is likely to stay within `MAX_BOARDS`."""
    branches = 4 * 2 * max(empty, 1)
    depth, boards = 1, 4 * branches
    while depth < MAX_DEPTH and boards <= MAX_BOARDS:
        depth += 1
        boards *= branches
    return depth


def _expected_value(board: list[TileLine], depth: int, cache: ValueCache) -> float:
    """The expected value of a board on which a new tile appears next."""
    if depth == 0:
        return _score(board)
    key = tuple(board), depth
    cached = cache.get(key)
    if cached is not None:
        return cached
    total, num_cells = 0.0, 0
    for index, line in enumerate(board):
        for empty_index in range(line.empty):
            num_cells += 1
            for power, probability in ((1, 1 - FOUR_PROBABILITY), (2, FOUR_PROBABILITY)):
                board[index] = place_tile(line, empty_index, power)[0]
                total += probability * _best_value(board, depth, cache)
        board[index] = line
    cache[key] = total / num_cells
    return total / num_cells


def _best_value(board: list[TileLine], depth: int, cache: ValueCache) -> float:
    """The value of a board on which the player moves next."""
    best = LOST_VALUE
    for move in MOVES:
        next_board = slide_board(board, move)
        if next_board != board:
            value = _expected_value(next_board, depth - 1, cache)
            best = max(best, value)
    return best


def _score(board: list[TileLine]) -> float:
    rows = [line.row for line in board]
    score = 0.0
    for row in rows:
        score += SCORES[row]
    for column in zip(*rows):  # noqa: B905 (strict is slow, and this is the leaf)
        score += SCORES[column]
    return score


class _ScoreCache(dict[Row, float]):
    def __missing__(self, row: Row) -> float:
        self[row] = score = _line_score(row)
        return score


SCORES = _ScoreCache()


def _line_score(row: Row) -> float:
    pairs = sum(1 for a, b in pairwise(row) if a and a == b)
    falls = sum(a**ORDER_POWER - b**ORDER_POWER for a, b in pairwise(row) if a > b)
    rises = sum(b**ORDER_POWER - a**ORDER_POWER for a, b in pairwise(row) if b > a)
    crowd: float = sum(power**CROWD_POWER for power in row)
    score: float = (
        EMPTY_WEIGHT * LINES[row].empty + PAIR_WEIGHT * pairs - ORDER_WEIGHT * min(falls, rises) - CROWD_WEIGHT * crowd
    )
    return score
