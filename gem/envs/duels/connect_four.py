r"""Four in a row on a board of seven columns, for two.

Rules:
    Red begins. The two sides take turns to drop a disc into a column; it falls onto the discs that are already there.
    The first to have four discs in a row, column or diagonal wins. A full board without such a line is a draw. After
    an action against the rules you may try again; a second one in a row loses.

Actions:
    `\boxed{N}` with the number of a column that is not full, 1 (left) to 7 (right), for example `\boxed{4}`.

Rewards:
    1 for the winner and -1 for the loser; 0 for both in a draw and at the turn limit. An action that cannot be parsed
    loses. Success means winning.

Source:
    Milton Bradley's game of 1974; the side that begins wins with perfect play (Allen and Allis, 1988).
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
from gem.views import Cell, GridView, Piece

ROWS, COLUMNS = 6, 7
DISCS: tuple[Piece, Piece] = ("disc", "ring")
LETTERS = "RY"
NAMES = ("Red", "Yellow")
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True, slots=True)
class Config:
    max_turns: int


class ConnectFour(MultiAgentEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{\s*(\d{1,3})\s*}", re.ASCII)
    names = NAMES

    def __init__(self, max_turns: int = 2 * ROWS * COLUMNS, seed: int | None = None) -> None:
        super().__init__(seed)
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(max_turns)
        self.max_turns = max_turns
        self.columns: list[list[int]] = [[] for _ in range(COLUMNS)]
        """For each column the seats whose discs are in it, from the bottom to the top."""
        self.last: int | None = None
        """The column of the last disc."""

    def _draw(self) -> None:
        self.columns = [[] for _ in range(COLUMNS)]
        self.last = None

    def _instructions(self) -> str:
        return (
            f"Two players, Red (R) and Yellow (Y), drop discs in turn into the {COLUMNS} columns of a board with "
            f"{ROWS} rows; Red begins. A disc falls as far as it can. Four of your discs in a row, a column or a "
            "diagonal win. The columns have the numbers 1 to 7 from the left.\n"
            "Put the number of a column that is not full into \\boxed{}, for example \\boxed{4}."
        )

    def _play(self, seat: int, match: str) -> tuple[str, Fault]:
        name, column = NAMES[seat], int(match) - 1
        if not 0 <= column < COLUMNS:
            return f"{name} names column {match}, but the columns are 1 to {COLUMNS}.", "rule"
        if len(self.columns[column]) == ROWS:
            return f"{name} names column {match}, which is full.", "rule"
        self.columns[column].append(seat)
        self.last = column
        account = f"{name} drops a disc into column {match}"
        if self.winning_cells():
            self._win(seat)
            return f"{account} and has four in a row. {name} wins.", None
        if not self.open_columns():
            self._end([0.0, 0.0])
            return f"{account}. The board is full: a draw.", None
        self._pass_turn()
        return f"{account}.", None

    def open_columns(self) -> list[int]:
        """The columns that are not full, counted from 0."""
        return [column for column, discs in enumerate(self.columns) if len(discs) < ROWS]

    def owner_at(self, row: int, column: int) -> int | None:
        """The seat whose disc is in a cell, rows counted from the bottom; None for an empty or missing cell."""
        has_disc = 0 <= column < COLUMNS and 0 <= row < len(self.columns[column])
        return self.columns[column][row] if has_disc else None

    def winning_cells(self) -> list[tuple[int, int]]:
        """The cells, as (row, column), of all lines of four or more that the last disc has completed."""
        if self.last is None:
            return []
        row, column = len(self.columns[self.last]) - 1, self.last
        cells = []
        for row_step, column_step in DIRECTIONS:
            runs = [
                self._same_discs_from(row, column, row_step, column_step),
                self._same_discs_from(row, column, -row_step, -column_step),
            ]
            if len(runs[0]) + len(runs[1]) >= 3:
                cells += [*runs[0], *runs[1], (row, column)]
        return cells

    def _same_discs_from(self, row: int, column: int, row_step: int, column_step: int) -> list[tuple[int, int]]:
        """The cells next to a disc, in one direction, that have discs of the same seat without a gap."""
        seat, cells = self.owner_at(row, column), []
        while self.owner_at(row + row_step, column + column_step) == seat:
            row, column = row + row_step, column + column_step
            cells.append((row, column))
        return cells

    def _suffix(self, seat: int) -> str:
        lines = [" ".join(self._symbol(row, column) for column in range(COLUMNS)) for row in reversed(range(ROWS))]
        board = "\n".join([*lines, " ".join(str(column + 1) for column in range(COLUMNS))])
        if seat in self.to_act:
            return f"{board}\nYou are {NAMES[seat]} ({LETTERS[seat]}). Which column do you choose?"
        return board

    def _symbol(self, row: int, column: int) -> str:
        owner = self.owner_at(row, column)
        return "." if owner is None else LETTERS[owner]

    def _format_help(self) -> str:
        return (
            f"There is no column in the answer of {NAMES[self.acting]}; it is written as \\boxed{{N}} with a number "
            f"from 1 to {COLUMNS}. {NAMES[1 - self.acting]} wins."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, self.open_columns() or [0]) + 1}}}"

    def _get_own_state(self) -> State:
        return {"columns": [list(discs) for discs in self.columns], "last": self.last}

    def _set_own_state(self, state: State) -> None:
        self.columns, self.last = [list(discs) for discs in state["columns"]], state["last"]

    def view(self, seat: int = 0) -> GridView:
        """The board. A click on any cell of a column drops a disc into it."""
        winning_cells = self.winning_cells()
        acting = seat in self.to_act
        actions = {str(column + 1): f"\\boxed{{{column + 1}}}" for column in self.open_columns()}
        return GridView(
            kind="grid",
            name=f"ConnectFour, {ROWS} rows, {COLUMNS} columns",
            rows=[
                [
                    self._cell(row, column, (row, column) in winning_cells, actions if acting else {})
                    for column in range(COLUMNS)
                ]
                for row in reversed(range(ROWS))
            ],
            keys=actions if acting else {},
            facts=[] if self.over else [("To act", NAMES[self.acting])],
            legend=[("click", "drop into the column"), ("1 to 7", "the column")] if seat != SPECTATOR else [],
        )

    def _cell(self, row: int, column: int, in_line: bool, actions: dict[str, str]) -> Cell:
        owner = self.owner_at(row, column)
        position = f"Row {row + 1} from the bottom, column {column + 1}"
        if owner is None:
            cell = Cell(tone="open", label=f"{position}: empty")
        else:
            cell = Cell(tone="hit" if in_line else "open", label=f"{position}: {NAMES[owner]}", piece=DISCS[owner])
            if column == self.last and row == len(self.columns[column]) - 1:
                cell["last"] = True
        if str(column + 1) in actions:
            cell["act"] = actions[str(column + 1)]
        return cell


register_duel("ConnectFour", ConnectFour)
