"""The expert for TicTacToe: it searches the whole game and never loses."""

from __future__ import annotations

from functools import cache

from gem.agents.agent import Decision
from gem.envs.duels.tic_tac_toe import MARKS, TicTacToe, winning_line

PREFERENCE = (4, 0, 2, 6, 8, 1, 3, 5, 7)
"""The order of preference among cells of the same value: the centre, then the corners, then the edges."""
WORDS = {1: "wins", 0: "draws", -1: "loses"}


def search_all(env: TicTacToe) -> Decision:
    """Take the cell with the best outcome against best play: the earliest win, or else the latest loss."""
    seat = env.to_act[0]
    board = "".join(mark or "." for mark in env.board)
    values = {cell: -value(_marked(board, cell, MARKS[seat]), 1 - seat) for cell in PREFERENCE if board[cell] == "."}
    best = max(values, key=lambda cell: values[cell])
    outcome = (values[best] > 0) - (values[best] < 0)
    return Decision(f"\\boxed{{{best + 1}}}", f"With best play on both sides cell {best + 1} {WORDS[outcome]}.")


@cache
def value(board: str, seat: int) -> int:
    """The value of a position for `seat`, which acts next: 0 for a draw, larger for an earlier win."""
    empty = board.count(".")
    if winning_line([mark.strip(".") for mark in board]):
        return -1 - empty  # the other side has just won
    if not empty:
        return 0
    return max(-value(_marked(board, cell, MARKS[seat]), 1 - seat) for cell in range(9) if board[cell] == ".")


def _marked(board: str, cell: int, mark: str) -> str:
    return board[:cell] + mark + board[cell + 1 :]
