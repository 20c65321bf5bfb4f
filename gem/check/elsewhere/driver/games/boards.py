"""Rules of the games with a board: Minesweeper, Sudoku, 2048 and the sliding puzzle."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..playing import ended
from ..promise import BrokenPromise, NotApplicable, Promise
from ..subjects import Subject
from .reading import box, is_documented, opening, suffix

MINESWEEPER, SUDOKU, FIFTEEN, TWENTY48 = ("Minesweeper",), ("Sudoku",), ("FifteenPuzzle",), ("Game2048",)
SEED = 1
FOUR = 4
"""The largest new tile of 2048."""


class Minefield(NamedTuple):
    """A board of Minesweeper, as revealing its cells has shown it."""

    first: tuple[int, int]
    """The cell that is revealed first, which is never a mine."""
    safe: list[tuple[int, int]]
    mines: list[tuple[int, int]]


def _minefield(env: Any) -> Minefield:
    """Find the mines by revealing each cell in an episode of its own."""
    board = _cells(suffix(env.reset(seed=SEED)[1]))
    if not board:
        raise NotApplicable("Its board could not be read.")
    first: tuple[int, int] = (len(board) // 2, len(board[0]) // 2)
    field = Minefield(first, [], [])
    for row, cells in enumerate(board):
        for column in range(len(cells)):
            if (row, column) == first:
                continue
            _begin(env, field)
            result = env.step(box(f"reveal {row} {column}"))
            is_mine = ended(result) and "mine" in str(result[0]).lower() and not result[4].get("success")
            (field.mines if is_mine else field.safe).append((row, column))
    return field


def _begin(env: Any, field: Minefield) -> Any:
    env.reset(seed=SEED)
    return env.step(box(f"reveal {field.first[0]} {field.first[1]}"))


def _cells(text: str) -> list[list[str]]:
    """The cells of a board whose rows begin with their number, row by row."""
    lines = [re.findall(r"[^\s|]+", line) for line in text.splitlines()]
    rows = [
        cells
        for label, *cells in filter(None, lines)
        if cells and re.fullmatch(r"R?\d+", label) and all(re.fullmatch(r"[.*F]|\d+", cell) for cell in cells)
    ]
    width = max(map(len, rows), default=0)
    return [cells for cells in rows if len(cells) == width]  # the numbers above the columns have no label


def revealing_every_safe_cell_ends_it(subject: Subject) -> None:
    env = subject.make()
    field = _minefield(env)
    result = _begin(env, field)
    for row, column in field.safe:
        if result[2]:
            return
        if result[3]:
            raise NotApplicable("There are not enough turns to reveal every safe cell one by one.")
        if _cells(suffix(result[-1]))[row][column] == ".":
            result = env.step(box(f"reveal {row} {column}"))
    if not ended(result):
        raise BrokenPromise("Every safe cell is revealed, and the episode goes on.")


def a_flag_protects_its_cell(subject: Subject) -> None:
    if is_documented(subject, r"a flag does not protect"):
        raise NotApplicable("Its documentation says that a flag does not protect.")
    env = subject.make()
    field = _minefield(env)
    if not field.mines:
        raise NotApplicable("No mine was found.")
    row, column = field.mines[0]
    _begin(env, field)
    env.step(box(f"flag {row} {column}"))
    if env.step(box(f"reveal {row} {column}"))[2]:
        raise BrokenPromise("Revealing a flagged mine ends the episode, and a flag is there to prevent that.")


# ------------------------------------------------------------------ Sudoku


def its_rules_are_of_its_size(subject: Subject) -> None:
    found = re.search(r"nine (\d+)x(\d+) sub", opening(subject.make()))
    if found and found.group(1) != "3":
        size = f"{found.group(1)}x{found.group(2)}"
        raise BrokenPromise(f"Its rules speak of nine {size} subgrids, which no Sudoku of this size has.")


def clues_are_cells_that_are_filled(subject: Subject) -> None:
    if is_documented(subject, r"`clues`[^.]*empty|empty[^.]*`clues`"):
        raise NotApplicable("Its documentation says that clues counts the empty cells.")
    named, registered = subject.arguments()
    clues = registered.get("clues", named.get("clues"))
    if not isinstance(clues, int):
        raise NotApplicable("It has no argument clues.")
    cells = [cell for row in _cells(suffix(subject.make().reset(seed=0)[1])) for cell in row]
    filled = sum(cell != "." for cell in cells)
    if cells and filled != clues:
        raise BrokenPromise(f"It is registered with clues={clues}, and {filled} of {len(cells)} cells are filled.")


def a_legal_number_is_no_violation(subject: Subject) -> None:
    env = subject.make()
    board = _cells(suffix(env.reset(seed=0)[1]))
    size = len(board)
    if not size or any(len(row) != size for row in board):
        raise NotApplicable("Its board could not be read.")
    for row, column, number in _legal_numbers(board):
        env.reset(seed=0)
        said = str(env.step(box(f"{row + 1} {column + 1} {number}"))[0])
        if re.search(r"violat|against the rules", said, re.IGNORECASE):
            raise BrokenPromise(
                f"{number} in row {row + 1}, column {column + 1} breaks no rule, and the reply is {said!r:.90}."
            )


def _legal_numbers(board: list[list[str]]) -> list[tuple[int, int, int]]:
    """Every empty cell with every number that is not yet in its row, its column or its box."""
    size, side = len(board), round(len(board) ** 0.5)
    found = []
    for row in range(size):
        for column in range(size):
            if board[row][column] != ".":
                continue
            above, left = row - row % side, column - column % side
            taken = {*board[row], *(line[column] for line in board)}
            taken |= {board[y][x] for y in range(above, above + side) for x in range(left, left + side)}
            found += [(row, column, number) for number in range(1, size + 1) if str(number) not in taken]
    return found


# ------------------------------------------------------------------ 2048 and the sliding puzzle


def it_can_be_won(subject: Subject) -> None:
    """A move adds a tile of 4 at most, so the sum of all tiles, which bounds the largest, grows by 4 at most."""
    if subject.declared_unwinnable:
        raise NotApplicable("It is registered as one that cannot be won.")
    text = opening(subject.make())
    target = re.search(r"(\d+)[ -]tile|tile of (\d+)|target (\d+)", text)
    turns = re.search(r"(\d+) (?:turns|moves)", text)
    if not target or not turns:
        raise NotApplicable("Its target and its turns could not be read.")
    goal, limit = int(next(filter(None, target.groups()))), int(turns.group(1))
    most = 2 * FOUR + FOUR * limit
    if most < goal:
        raise BrokenPromise(f"In {limit} turns the tiles add up to {most} at most, and the target is {goal}.")


def its_start_can_be_solved(subject: Subject) -> None:
    env = subject.make()
    for seed in range(50):
        lines = [line.split() for line in suffix(env.reset(seed=seed)[1]).splitlines()]
        rows = [line for line in lines if line and all(re.fullmatch(r"\d+|__", tile) for tile in line)]
        tiles = [[int(tile) if tile != "__" else 0 for tile in row] for row in rows]
        if not tiles or any(len(row) != len(tiles) for row in tiles):
            raise NotApplicable("Its board could not be read.")
        if not _is_solvable(tiles):
            raise BrokenPromise(f"Seed {seed} begins with {tiles}, from which no moves lead to the goal.")


def _is_solvable(tiles: list[list[int]]) -> bool:
    """Whether the parity of the order of the tiles, and of the row of the gap, is that of the goal."""
    size = len(tiles)
    flat = [tile for row in tiles for tile in row if tile]
    inversions = sum(one > other for at, one in enumerate(flat) for other in flat[at + 1 :])
    if size % 2:
        return inversions % 2 == 0
    gap_from_below = next(size - number for number, row in enumerate(tiles) if 0 in row)
    return (inversions + gap_from_below) % 2 == 1


def _promise(title: str, attempt: Any, advice: str, families: tuple[str, ...]) -> Promise:
    return Promise(title, attempt, advice, ("gem",), families)


PROMISES = (
    _promise(
        "Revealing every safe cell ends it.",
        revealing_every_safe_cell_ends_it,
        "Flags are no part of the goal.",
        MINESWEEPER,
    ),
    _promise(
        "A flag protects its cell, or the rules say otherwise.",
        a_flag_protects_its_cell,
        "Refuse to reveal a flagged cell, or write down that flags protect nobody.",
        MINESWEEPER,
    ),
    _promise("Its rules are of its size.", its_rules_are_of_its_size, "Compute the number and size of boxes.", SUDOKU),
    _promise(
        "Clues are cells that are filled.",
        clues_are_cells_that_are_filled,
        "Name the argument after what it counts, or write down what it counts.",
        SUDOKU,
    ),
    _promise(
        "A legal number is no violation.",
        a_legal_number_is_no_violation,
        "Compare with the rules, or say that the number is not that of the solution.",
        SUDOKU,
    ),
    _promise("It can be won.", it_can_be_won, "Give more turns, or a smaller target.", TWENTY48),
    _promise("Its start can be solved.", its_start_can_be_solved, "Mix the goal by moves, or check parity.", FIFTEEN),
)
