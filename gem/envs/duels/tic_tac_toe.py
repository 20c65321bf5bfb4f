r"""Three in a row on a board of nine cells, for two.

Rules:
    X begins. The two sides take turns to mark an empty cell. The first to have three marks in a row, column or
    diagonal wins. A full board without such a line is a draw. After an action against the rules you may try again; a
    second one in a row loses.

Actions:
    `\boxed{N}` with the number of an empty cell, 1 (top left) to 9 (bottom right), for example `\boxed{5}`.

Rewards:
    1 for the winner and -1 for the loser; 0 for both in a draw and at the turn limit. An action that cannot be parsed
    loses. Success means winning.

Source:
    The children's game; with perfect play it is a draw.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.duels.register import register_duel
from gem.envs.multiagent import Fault, MultiAgentEnv
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice
from gem.seats import SPECTATOR
from gem.views import Cell, GridView

MARKS = "XO"
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@dataclass(frozen=True, slots=True)
class Config:
    max_turns: int


class TicTacToe(MultiAgentEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{\s*(\d{1,3})\s*}", re.ASCII)
    names = ("X", "O")

    def __init__(self, max_turns: int = 18, seed: int | None = None) -> None:
        super().__init__(seed)
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(max_turns)
        self.max_turns = max_turns
        self.board = [""] * 9
        """The mark in each cell, row by row; an empty string for an empty cell."""
        self.last: int | None = None
        """The cell that was marked last."""

    def _draw(self) -> None:
        self.board = [""] * 9
        self.last = None

    def _instructions(self) -> str:
        return (
            "Two players, X and O, mark the cells of a board of three rows and three columns in turn; X begins. Three "
            "of your marks in a row, a column or a diagonal win. The cells have the numbers 1 to 9, row by row.\n"
            "Put the number of an empty cell into \\boxed{}, for example \\boxed{5}."
        )

    def _play(self, seat: int, match: str) -> tuple[str, Fault]:
        mark, cell = MARKS[seat], int(match) - 1
        if not 0 <= cell < 9:
            return f"{mark} names cell {match}, but the cells are 1 to 9.", "rule"
        if self.board[cell]:
            return f"{mark} names cell {match}, which is not empty.", "rule"
        self.board[cell] = mark
        self.last = cell
        if winning_line(self.board):
            self._win(seat)
            return f"{mark} takes cell {match} and has three in a row. {mark} wins.", None
        if all(self.board):
            self._end([0.0, 0.0])
            return f"{mark} takes cell {match}. The board is full: a draw.", None
        self._pass_turn()
        return f"{mark} takes cell {match}.", None

    def empty_cells(self) -> list[int]:
        """The indices of the empty cells, from 0."""
        return [cell for cell, mark in enumerate(self.board) if not mark]

    def _suffix(self, seat: int) -> str:
        symbols = [mark or str(cell) for cell, mark in enumerate(self.board, start=1)]
        board = "\n".join(" ".join(symbols[row : row + 3]) for row in (0, 3, 6))
        if seat in self.to_act:
            return f"{board}\nYou are {MARKS[seat]}. Which cell do you take?"
        return board

    def _format_help(self) -> str:
        return (
            f"There is no cell in the answer of {MARKS[self.acting]}; it is written as \\boxed{{N}} with a number from "
            f"1 to 9. {MARKS[1 - self.acting]} wins."
        )

    def random_actions(self) -> list[str]:
        """See `MultiAgentEnv.random_actions`."""
        return [f"\\boxed{{{cell + 1}}}" for cell in self.empty_cells() or [0]]

    def _random_action(self, rng: SplitMix64) -> str:
        return choice(rng, self.random_actions())

    def _get_own_state(self) -> State:
        return {"board": list(self.board), "last": self.last}

    def _set_own_state(self, state: State) -> None:
        self.board, self.last = list(state["board"]), state["last"]

    def view(self, seat: int = 0) -> GridView:
        """The board. A click on an empty cell takes it."""
        line = winning_line(self.board)
        cells = []
        for index, mark in enumerate(self.board):
            cell = Cell(tone="hit" if index in line else "open", label=f"Cell {index + 1}: {mark or 'empty'}")
            cell["text"] = mark
            if not mark and seat in self.to_act:
                cell["act"] = f"\\boxed{{{index + 1}}}"
            if index == self.last:
                cell["last"] = True
            cells.append(cell)
        return GridView(
            kind="grid",
            name="TicTacToe, 3 rows, 3 columns",
            rows=[cells[row : row + 3] for row in (0, 3, 6)],
            size="l",
            facts=[("To act", MARKS[self.acting])] if not self.over else [],
            legend=[("click", "take a cell"), ("arrow keys", "move"), ("Enter", "take")] if seat != SPECTATOR else [],
        )


def winning_line(board: list[str]) -> tuple[int, ...]:
    """The three cells of a complete line; an empty tuple if there is none."""
    for a, b, c in LINES:
        if board[a] and board[a] == board[b] == board[c]:
            return a, b, c
    return ()


register_duel("TicTacToe", TicTacToe)
