"""Boards for Sudoku: their rows, columns and boxes, a solver, and puzzles with exactly one solution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gem.rng import RandomSource, shuffle

SCALES = (4, 9)
MAX_NODES = 3000
"""Numbers that a search tries before it gives up. A cell whose search gave up keeps its number."""


class Layout(NamedTuple):
    """The units (rows, columns and boxes) of a board, and its text. Cells count row by row from 0."""

    units: tuple[tuple[int, ...], ...]
    """The cells of every row, then every column, then every box."""
    cell_units: tuple[tuple[int, int, int], ...]
    """For each cell its row, column and box, as indices into `units`."""
    empty_text: str
    """The text of an empty board."""
    text_offsets: tuple[int, ...]
    """For each cell the offset of its character in that text."""


@lru_cache(maxsize=len(SCALES))
def layout(scale: int) -> Layout:
    """The layout of a board with `scale` rows and columns."""
    box = math.isqrt(scale)
    cell_units = tuple(
        (row, scale + column, 2 * scale + row // box * box + column // box)
        for row in range(scale)
        for column in range(scale)
    )
    units: list[list[int]] = [[] for _ in range(3 * scale)]
    for cell, unit_indices in enumerate(cell_units):
        for unit in unit_indices:
            units[unit].append(cell)
    gap = " " * 2
    dots = gap.join(" ".join("." * box) for _ in range(box))
    numbers = gap.join(" ".join(str(band * box + i + 1) for i in range(box)) for band in range(box))
    bands = ("\n".join(f"{band * box + i + 1}  {dots}" for i in range(box)) for band in range(box))
    text = f"   {numbers}\n" + "\n\n".join(bands)
    text_offsets = tuple(offset for offset, character in enumerate(text) if character == ".")
    return Layout(tuple(map(tuple, units)), cell_units, text, text_offsets)


class SudokuSearch:
    """A board on which numbers can be tried, and a backtracking search that completes it.

    Sets of numbers are bit masks: bit n stands for the number n.
    """

    def __init__(self, scale: int, board: Sequence[int]) -> None:
        self.layout = layout(scale)
        self.all_bits = (2 << scale) - 2
        self.used = [0] * (3 * scale)
        self.board = [0] * len(board)
        self.nodes = 0
        for cell, number in enumerate(board):
            if number:
                self.place(cell, 1 << number)

    def place(self, cell: int, bit: int) -> None:
        """Write the number of this bit into an empty cell."""
        self.board[cell] = bit.bit_length() - 1
        for unit in self.layout.cell_units[cell]:
            self.used[unit] |= bit

    def remove(self, cell: int) -> int:
        """Empty a cell and return the bit of the number that it had."""
        bit = 1 << self.board[cell]
        self.board[cell] = 0
        for unit in self.layout.cell_units[cell]:
            self.used[unit] ^= bit
        return bit

    def candidates(self, cell: int) -> int:
        """The numbers that neither the row nor the column nor the box of this cell has, as bits."""
        row, column, box = self.layout.cell_units[cell]
        return self.all_bits & ~(self.used[row] | self.used[column] | self.used[box])

    def is_only_place(self, cell: int, bit: int) -> bool:
        """Whether a row, column or box of the empty cell has no other cell for this number."""
        for unit in self.layout.cell_units[cell]:
            for other_cell in self.layout.units[unit]:
                if other_cell != cell and not self.board[other_cell] and self.candidates(other_cell) & bit:
                    break
            else:
                return True
        return False

    def fill(self, rng: RandomSource | None = None) -> bool | None:
        """Complete the board, trying numbers in ascending order, or in random order if `rng` is given.

        Returns:
            True if the board is complete now; False if it has no solution, and is as before; None if the search has
            given up after `MAX_NODES` numbers.
        """
        self.nodes = 0
        return self._fill([cell for cell, number in enumerate(self.board) if not number], rng)

    def _fill(self, empty: list[int], rng: RandomSource | None) -> bool | None:
        if not empty:
            return True
        best_index = fewest_options = -1
        options = 0
        used, cell_units, all_bits = self.used, self.layout.cell_units, self.all_bits
        for index, cell in enumerate(empty):
            row, column, box = cell_units[cell]
            available = all_bits & ~(used[row] | used[column] | used[box])
            count = available.bit_count()
            if fewest_options < 0 or count < fewest_options:
                best_index, fewest_options, options = index, count, available
                if count <= 1:
                    break
        cell = empty[best_index]
        rest = empty[:best_index] + empty[best_index + 1 :]
        for bit in _bits(options, rng):
            self.nodes += 1
            if self.nodes > MAX_NODES:
                return None
            self.place(cell, bit)
            is_filled = self._fill(rest, rng)
            if is_filled:
                return True
            self.remove(cell)
            if is_filled is None:
                return None
        return False


def _bits(mask: int, rng: RandomSource | None) -> list[int]:
    bits = []
    while mask:
        bit = mask & -mask
        bits.append(bit)
        mask ^= bit
    if rng is not None and len(bits) > 1:
        shuffle(rng, bits)
    return bits


def full_board(scale: int, rng: RandomSource) -> list[int]:
    """A random solved board."""
    while True:
        search = SudokuSearch(scale, [0] * scale**2)
        box = math.isqrt(scale)
        for unit in range(2 * scale, 3 * scale, box + 1):  # the boxes of the diagonal do not touch each other
            for cell, bit in zip(search.layout.units[unit], _bits(search.all_bits, rng), strict=True):
                search.place(cell, bit)
        if search.fill(rng):
            return search.board


def remove_numbers(solution: Sequence[int], scale: int, max_removed: int, rng: RandomSource) -> list[int]:
    """The board without up to `max_removed` of its numbers, which still has exactly one solution.

    Without a number the solution is still the only one if no other number fits into its cell, or if the number fits
    nowhere else in a row, column or box. Otherwise a search tries the other numbers that fit.
    """
    search = SudokuSearch(scale, solution)
    cells = list(range(len(solution)))
    shuffle(rng, cells)
    num_removed = 0
    for cell in cells:
        if num_removed == max_removed:
            break
        bit = search.remove(cell)
        other_bits = search.candidates(cell) & ~bit
        if not other_bits or search.is_only_place(cell, bit) or not _may_have_other_solution(search, cell, other_bits):
            num_removed += 1
        else:
            search.place(cell, bit)
    return search.board


def _may_have_other_solution(search: SudokuSearch, cell: int, other_bits: int) -> bool:
    """Whether the board has a solution with one of the other numbers in the cell, or the search gave up."""
    for bit in _bits(other_bits, None):
        trial = SudokuSearch(len(search.used) // 3, search.board)
        trial.place(cell, bit)
        if trial.fill() is not False:
            return True
    return False
