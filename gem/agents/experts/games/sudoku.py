"""The expert for Sudoku: it writes numbers that follow at once, the easiest first, and searches if none does."""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.sudoku import Sudoku
from gem.envs.games.sudoku_boards import SudokuSearch


def complete(env: Sudoku) -> Decision:
    """Write the next number that the rules force."""
    search = SudokuSearch(env.scale, env.board)
    empty = [cell for cell, number in enumerate(env.board) if not number]
    forced = _only_number(search, empty) or _only_place(search)
    if forced is not None:
        cell, bit, reason = forced
        return _write(env, cell, bit.bit_length() - 1, reason)
    search.fill()
    cell = empty[0]
    return _write(env, cell, search.board[cell], "it follows from trying out the rest of the board")


def _only_number(search: SudokuSearch, empty: list[int]) -> tuple[int, int, str] | None:
    for cell in empty:
        bits = search.candidates(cell)
        if bits.bit_count() == 1:
            return cell, bits, "its row, column and box have every other number"
    return None


def _only_place(search: SudokuSearch) -> tuple[int, int, str] | None:
    scale = len(search.used) // 3
    for unit, cells in enumerate(search.layout.units):
        unit_kind = ("row", "column", "box")[unit // scale]
        once = twice = 0  # the numbers with at least one possible cell in this unit, and those with several
        for cell in cells:
            if not search.board[cell]:
                bits = search.candidates(cell)
                twice |= once & bits
                once |= bits
        single = once & ~twice
        if single:
            bit = single & -single
            cell = next(c for c in cells if not search.board[c] and search.candidates(c) & bit)
            return cell, bit, f"no other cell of its {unit_kind} can have it"
    return None


def _write(env: Sudoku, cell: int, number: int, reason: str) -> Decision:
    row, column = cell // env.scale + 1, cell % env.scale + 1
    return Decision(f"\\boxed{{{row} {column} {number}}}", f"Row {row}, column {column} must be {number}: {reason}.")
