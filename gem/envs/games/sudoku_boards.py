"""Boards for Sudoku: their units, a search for solutions, and puzzles that have exactly one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from gem.rng import RandomSource, shuffle

SCALES = (4, 9)
MAX_NODES = 3000
"""A search that is not done after so many numbers tried gives up: the cell keeps its number."""


class Layout(NamedTuple):
    """Which units the cells of a board belong to; cells count row by row from 0."""

    units: tuple[tuple[int, ...], ...]
    """The cells of every row, then every column, then every box."""
    units_of: tuple[tuple[int, int, int], ...]
    """Of each cell: its row, column and box as indices into `units`."""
    empty_text: str
    """An empty board as text."""
    text_at: tuple[int, ...]
    """Of each cell: where its character is in that text."""


@lru_cache(maxsize=len(SCALES))
def layout(scale: int) -> Layout:
    """The rows, columns and boxes of a board."""
    box = math.isqrt(scale)
    units_of = tuple(
        (row, scale + column, 2 * scale + row // box * box + column // box)
        for row in range(scale)
        for column in range(scale)
    )
    units: list[list[int]] = [[] for _ in range(3 * scale)]
    for cell, its_units in enumerate(units_of):
        for unit in its_units:
            units[unit].append(cell)
    gap = " " * 2
    dots = gap.join(" ".join("." * box) for _ in range(box))
    numbers = gap.join(" ".join(str(band * box + i + 1) for i in range(box)) for band in range(box))
    bands = ("\n".join(f"{band * box + i + 1}  {dots}" for i in range(box)) for band in range(box))
    text = f"   {numbers}\n" + "\n\n".join(bands)
    text_at = tuple(at for at, character in enumerate(text) if character == ".")
    return Layout(tuple(map(tuple, units)), units_of, text, text_at)


class Search:
    """A board on which numbers can be tried: which numbers each unit has, as bit masks (bit n is the number n)."""

    def __init__(self, scale: int, board: Sequence[int]) -> None:
        self.layout = layout(scale)
        self.all = (2 << scale) - 2
        self.used = [0] * (3 * scale)
        self.board = [0] * len(board)
        self.nodes = 0
        for cell, number in enumerate(board):
            if number:
                self.put(cell, 1 << number)

    def put(self, cell: int, bit: int) -> None:
        """Write the number of this bit into an empty cell."""
        self.board[cell] = bit.bit_length() - 1
        for unit in self.layout.units_of[cell]:
            self.used[unit] |= bit

    def take(self, cell: int) -> int:
        """Empty a cell; the bit of the number it had."""
        bit = 1 << self.board[cell]
        self.board[cell] = 0
        for unit in self.layout.units_of[cell]:
            self.used[unit] ^= bit
        return bit

    def candidates(self, cell: int) -> int:
        """The numbers that no row, column or box of this cell has yet, as bits."""
        row, column, box = self.layout.units_of[cell]
        return self.all & ~(self.used[row] | self.used[column] | self.used[box])

    def is_only_place(self, cell: int, bit: int) -> bool:
        """Whether one of the empty cell's units has no other place for this number."""
        for unit in self.layout.units_of[cell]:
            for other in self.layout.units[unit]:
                if other != cell and not self.board[other] and self.candidates(other) & bit:
                    break
            else:
                return True
        return False

    def fill(self, rng: RandomSource | None = None) -> bool | None:
        """Complete the board, trying numbers in ascending or in random order.

        True if that can be done; False, with the board as before, if it cannot; None if `MAX_NODES` ran out.
        """
        self.nodes = 0
        return self._fill([cell for cell, number in enumerate(self.board) if not number], rng)

    def _fill(self, empty: list[int], rng: RandomSource | None) -> bool | None:
        if not empty:
            return True
        best = fewest = -1
        options = 0
        used, units_of, everything = self.used, self.layout.units_of, self.all
        for index, cell in enumerate(empty):
            row, column, box = units_of[cell]
            free = everything & ~(used[row] | used[column] | used[box])
            count = free.bit_count()
            if fewest < 0 or count < fewest:
                best, fewest, options = index, count, free
                if count <= 1:
                    break
        cell = empty[best]
        rest = empty[:best] + empty[best + 1 :]
        for bit in _bits(options, rng):
            self.nodes += 1
            if self.nodes > MAX_NODES:
                return None
            self.put(cell, bit)
            done = self._fill(rest, rng)
            if done:
                return True
            self.take(cell)
            if done is None:
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
    """A random board that keeps all rules."""
    while True:
        search = Search(scale, [0] * scale**2)
        box = math.isqrt(scale)
        for unit in range(2 * scale, 3 * scale, box + 1):  # the boxes of the diagonal do not touch each other
            for cell, bit in zip(search.layout.units[unit], _bits(search.all, rng), strict=True):
                search.put(cell, bit)
        if search.fill(rng):
            return search.board


def remove_numbers(solution: Sequence[int], scale: int, most: int, rng: RandomSource) -> list[int]:
    """The board without up to `most` of its numbers, which still has no other solution.

    Taking a number away keeps the solution the only one if nothing else fits into its cell, or if the number fits
    nowhere else in a row, column or box; otherwise the other numbers that fit are tried out.
    """
    search = Search(scale, solution)
    cells = list(range(len(solution)))
    shuffle(rng, cells)
    removed = 0
    for cell in cells:
        if removed == most:
            break
        bit = search.take(cell)
        others = search.candidates(cell) & ~bit
        if not others or search.is_only_place(cell, bit) or not _fits_otherwise(search, cell, others):
            removed += 1
        else:
            search.put(cell, bit)
    return search.board


def _fits_otherwise(search: Search, cell: int, others: int) -> bool:
    """Whether the board has, or may have, a solution with one of the `others` in the cell; leaves it as it was."""
    for bit in _bits(others, None):
        trial = Search(len(search.used) // 3, search.board)
        trial.put(cell, bit)
        if trial.fill() is not False:
            return True
    return False
