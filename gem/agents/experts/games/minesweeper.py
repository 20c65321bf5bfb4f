"""The expert for Minesweeper: it opens a cell that is proven safe, or else the cell that is least often a mine.

It takes three steps, each only if the one before has found no safe cell:

1. If all mines next to a number are known, its other neighbours are safe; if a number has as many unopened neighbours
   as mines, all of them are mines. Two numbers whose neighbours overlap are compared.
2. All arrangements of mines next to open cells are counted, component by component, and combined with the number of
   mines on the board. A cell that is a mine in no arrangement is safe.
3. If few arrangements are left, a search finds the cell with the best chance to win the episode. Otherwise the cell
   that is a mine in the fewest arrangements is opened.

The solver reads only the numbers. Flags prove nothing, because the player may have set them by mistake.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from gem.agents.agent import Decision
from gem.agents.experts.games.minesweeper_counting import (
    Board,
    MineConstraint,
    count_arrangements,
    count_hidden_neighbours,
    mine_risks,
    split_components,
)
from gem.agents.experts.games.minesweeper_end import Endgame, list_arrangements
from gem.envs.games.minesweeper import FLAG, Minesweeper


def deduce(env: Minesweeper) -> Decision:
    """Open a cell that is proven safe, or else the one with the best chance."""
    board = Board(env.rows, env.cols, env.num_mines, list(env.visible_cells))
    if len(board.hidden_cells) == len(board.visible_cells):
        cell = (board.rows // 2) * board.cols + board.cols // 2
        return _open(board, cell, "The first cell and its neighbours are always safe; in the middle that opens most.")
    constraints = board.constraints()
    choice = find_proven_cell(board, constraints) or find_likely_cell(board, constraints)
    return _open(board, *choice)


def _open(board: Board, cell: int, note: str) -> Decision:
    row, col = divmod(cell, board.cols)
    note = note[:1].upper() + note[1:]
    if board.visible_cells[cell] == FLAG:
        return Decision(f"\\boxed{{flag {row} {col}}}", f"{note} The flag on it has to go first.")
    return Decision(f"\\boxed{{reveal {row} {col}}}", note)


# ---------------------------------------------------------------------- step 1: a number, or two


def find_proven_cell(board: Board, constraints: Sequence[MineConstraint]) -> tuple[int, str] | None:
    """A cell that is proven safe by one number, or by two with common neighbours, and a note why; None without one."""
    proven_mines: dict[int, int] = {}  # a mine and the number that proves it
    has_changed = True
    while has_changed:
        has_changed = False
        for constraint in constraints:
            unproven = constraint.cells.difference(proven_mines)
            missing_mines = constraint.mines - (len(constraint.cells) - len(unproven))
            if unproven and missing_mines == 0:
                return min(unproven), _proof_note(
                    board, constraint, constraint.cells.intersection(proven_mines), len(unproven)
                )
            if unproven and missing_mines == len(unproven):
                proven_mines.update(dict.fromkeys(unproven, constraint.origin))
                has_changed = True
    reduced = []
    for constraint in constraints:
        unproven = constraint.cells.difference(proven_mines)
        if unproven:
            missing_mines = constraint.mines - (len(constraint.cells) - len(unproven))
            reduced.append(MineConstraint(unproven, missing_mines, constraint.origin))
    for small, large in itertools.permutations(reduced, 2):
        if small.mines == large.mines and small.cells < large.cells:
            safe = large.cells - small.cells
            reason = (
                f"every mine that {board.number_text(large.origin)} still misses is also one of "
                f"{board.number_text(small.origin)}, so its other {_neighbours_text(len(safe))} safe."
            )
            return min(safe), reason
    return None


def _proof_note(board: Board, constraint: MineConstraint, mines: Iterable[int], num_safe: int) -> str:
    positions = [board.position_text(mine) for mine in sorted(mines)]
    if not positions:
        return f"{board.number_text(constraint.origin)} touches no mine."
    mines_text = "its mine" if len(positions) == 1 else "its mines"
    positions_text = " and ".join(positions)
    number_text, safe_text = board.number_text(constraint.origin), _neighbours_text(num_safe)
    return f"{number_text} already has {mines_text} at {positions_text}, so its other {safe_text} safe."


def _neighbours_text(count: int) -> str:
    return "unopened neighbour is" if count == 1 else "unopened neighbours are"


# ---------------------------------------------------------------------- steps 2 and 3: all arrangements


def find_likely_cell(board: Board, constraints: Sequence[MineConstraint]) -> tuple[int, str]:
    """The best cell after counting all arrangements that fit, and a note why it is the best."""
    components = [
        count_arrangements(groups, group_constraints) for groups, group_constraints in split_components(constraints)
    ]
    frontier = {cell for component in components for group in component.groups for cell in group}
    unconstrained = [cell for cell in board.hidden_cells if cell not in frontier]
    risks = mine_risks(board, components, unconstrained)
    cell = min(risks, key=lambda cell: (risks[cell], count_hidden_neighbours(board, cell), cell))
    if risks[cell] == 0:
        if cell in frontier:
            return cell, f"no arrangement of mines that fits the numbers has one at {board.position_text(cell)}."
        return cell, f"all {board.num_mines} mines lie beside open numbers, so {board.position_text(cell)} is safe."
    arrangements = list_arrangements(board, components, unconstrained)
    if arrangements is not None:
        best = Endgame(board, arrangements).find_best_cell()
        if best is not None:
            cell, win_share = best
            return cell, (
                f"nothing is certain. {len(arrangements)} arrangements of mines are left, and opening "
                f"{board.position_text(cell)} wins in {win_share:.0%} of them, no other cell in more."
            )
    return cell, (
        f"nothing is certain. {board.position_text(cell)} is a mine in {risks[cell]:.0%} of the arrangements that fit, "
        "no other cell in fewer."
    )
