"""2048: expectimax, which weighs every move by the average over the tiles that may appear after it.

The depth is chosen so that the boards looked at stay within a bound, so a decision never depends on the clock.
A leaf is scored line by line: empty cells and equal neighbours are good, values that go up and down along a line and
many middling tiles are bad.
"""

from __future__ import annotations

from itertools import pairwise

from gem.agents.agent import Decision
from gem.envs.games.game_2048 import FOUR_PROBABILITY, LINES, MOVES, Game2048, Row, TileLine, place_tile, slide_board

MAX_BOARDS = 4000
"""About how many boards a decision may look at."""
MAX_DEPTH = 4
"""Moves looked ahead at most."""
LOST = -1e6
EMPTY_WEIGHT, PAIR_WEIGHT, ORDER_WEIGHT, CROWD_WEIGHT = 500.0, 100.0, 10.0, 100.0
ORDER_POWER, CROWD_POWER = 3.0, 2.5
"""Found by trying random weights on `-v0-easy` and `-v1-extreme-hard`, seeds 1000 and up."""

Memo = dict[tuple[tuple[TileLine, ...], int], float]


def expectimax(env: Game2048) -> Decision:
    """The move with the best expected board."""
    depth = _depth(sum(line.empty for line in env.board))
    memo: Memo = {}
    values: dict[str, float] = {}
    for move in MOVES:
        board = slide_board(env.board, move)
        if board == env.board:
            continue
        if max(line.highest for line in board) >= env.target:
            return Decision(f"\\boxed{{{move}}}", f"Moving {move} makes a tile of {1 << env.target}.")
        values[move] = _average(board, depth - 1, memo)
    best = max(values, key=values.__getitem__)
    return Decision(
        f"\\boxed{{{best}}}",
        f"{best.capitalize()} leaves the best board on average over the tiles to come, "
        f"looking {depth} moves ahead: {', '.join(f'{m} {v:.0f}' for m, v in values.items())}.",
    )


def _depth(empty: int) -> int:
    """The most moves to look ahead for which the number of boards stays within the bound."""
    branches = 4 * 2 * max(empty, 1)
    depth, boards = 1, 4 * branches
    while depth < MAX_DEPTH and boards <= MAX_BOARDS:
        depth += 1
        boards *= branches
    return depth


def _average(board: list[TileLine], depth: int, memo: Memo) -> float:
    """The expected value of a board that gets a new tile."""
    if depth == 0:
        return _score(board)
    key = tuple(board), depth
    known = memo.get(key)
    if known is not None:
        return known
    total, places = 0.0, 0
    for index, line in enumerate(board):
        for hole in range(line.empty):
            places += 1
            for power, probability in ((1, 1 - FOUR_PROBABILITY), (2, FOUR_PROBABILITY)):
                board[index] = place_tile(line, hole, power)[0]
                total += probability * _best(board, depth, memo)
        board[index] = line
    memo[key] = total / places
    return total / places


def _best(board: list[TileLine], depth: int, memo: Memo) -> float:
    """The value of a board on which it is our turn."""
    best = LOST
    for move in MOVES:
        after = slide_board(board, move)
        if after != board:
            value = _average(after, depth - 1, memo)
            best = max(best, value)
    return best


def _score(board: list[TileLine]) -> float:
    a, b, c, d = board
    score = SCORES[a.row] + SCORES[b.row] + SCORES[c.row] + SCORES[d.row]
    for column in zip(a.row, b.row, c.row, d.row):  # noqa: B905 (strict is slow, and this is the leaf)
        score += SCORES[column]
    return score


class _Scores(dict[Row, float]):
    def __missing__(self, row: Row) -> float:
        self[row] = score = _line_score(row)
        return score


SCORES = _Scores()


def _line_score(row: Row) -> float:
    pairs = sum(1 for a, b in pairwise(row) if a and a == b)
    falls = sum(a**ORDER_POWER - b**ORDER_POWER for a, b in pairwise(row) if a > b)
    rises = sum(b**ORDER_POWER - a**ORDER_POWER for a, b in pairwise(row) if b > a)
    crowd: float = sum(power**CROWD_POWER for power in row)
    score: float = (
        EMPTY_WEIGHT * LINES[row].empty + PAIR_WEIGHT * pairs - ORDER_WEIGHT * min(falls, rises) - CROWD_WEIGHT * crowd
    )
    return score
