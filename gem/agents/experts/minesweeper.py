"""Minesweeper: what follows from the numbers, and where nothing follows, the cell that is least often a mine.

Three steps, each tried when the one before finds no safe cell:

1. A number whose mines are all known makes its other neighbours safe (and one with as many neighbours as mines
   makes them mines); two numbers that overlap are compared.
2. All arrangements of mines along the open cells are counted, component by component, and joined with the number
   of mines on the board. A cell that is a mine in none of them is safe.
3. Near the end, when few arrangements are left, the cell from which the rest can most often be won is searched for;
   before that, the cell that is a mine in the fewest arrangements is opened.

Flags are somebody's opinion and prove nothing: the solver reads the numbers only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from gem.agents.agent import Decision
from gem.agents.experts.minesweeper_counting import Board, Rule, components_of, count, openness, risks_of
from gem.agents.experts.minesweeper_end import Endgame, arrangements_of
from gem.envs.games.minesweeper import FLAG, Minesweeper


def deduce(env: Minesweeper) -> Decision:
    """Open a cell that is proved safe, or the one with the best chance."""
    board = Board(env.rows, env.cols, env.num_mines, list(env.visible_cells))
    if len(board.hidden) == len(board.shown):
        cell = (board.rows // 2) * board.cols + board.cols // 2
        return _open(board, cell, "The first cell and its neighbours are always safe; in the middle that opens most.")
    rules = board.rules()
    found = overlapping(board, rules) or counted(board, rules)
    return _open(board, *found)


def _open(board: Board, cell: int, note: str) -> Decision:
    row, col = divmod(cell, board.cols)
    note = note[:1].upper() + note[1:]
    if board.shown[cell] == FLAG:
        return Decision(f"\\boxed{{flag {row} {col}}}", f"{note} The flag on it has to go first.")
    return Decision(f"\\boxed{{reveal {row} {col}}}", note)


# ---------------------------------------------------------------------- step 1: a number, or two


def overlapping(board: Board, rules: Sequence[Rule]) -> tuple[int, str] | None:
    """A cell that one number or two overlapping ones prove safe, and how; None if there is none."""
    known: dict[int, int] = {}  # a mine and the number that proves it
    changed = True
    while changed:
        changed = False
        for rule in rules:
            rest = rule.cells.difference(known)
            missing = rule.mines - (len(rule.cells) - len(rest))
            if rest and missing == 0:
                return min(rest), _touches_all(board, rule, rule.cells.intersection(known), len(rest))
            if rest and missing == len(rest):
                known.update(dict.fromkeys(rest, rule.origin))
                changed = True
    left = []
    for rule in rules:
        rest = rule.cells.difference(known)
        if rest:
            left.append(Rule(rest, rule.mines - (len(rule.cells) - len(rest)), rule.origin))
    for small, large in itertools.permutations(left, 2):
        if small.mines == large.mines and small.cells < large.cells:
            safe = large.cells - small.cells
            reason = (
                f"every mine that {board.number(large.origin)} still misses is also one of "
                f"{board.number(small.origin)}, so its other {_neighbours(len(safe))} safe."
            )
            return min(safe), reason
    return None


def _touches_all(board: Board, rule: Rule, mines: Iterable[int], safe: int) -> str:
    places = [board.place(mine) for mine in sorted(mines)]
    if not places:
        return f"{board.number(rule.origin)} touches no mine."
    its = "its mine" if len(places) == 1 else "its mines"
    where = " and ".join(places)
    return f"{board.number(rule.origin)} already has {its} at {where}, so its other {_neighbours(safe)} safe."


def _neighbours(count: int) -> str:
    return "unopened neighbour is" if count == 1 else "unopened neighbours are"


# ---------------------------------------------------------------------- steps 2 and 3: all arrangements


def counted(board: Board, rules: Sequence[Rule]) -> tuple[int, str]:
    """The best cell by counting all arrangements that fit, and why."""
    components = [count(groups, group_rules) for groups, group_rules in components_of(rules)]
    frontier = {cell for component in components for group in component.groups for cell in group}
    sea = [cell for cell in board.hidden if cell not in frontier]
    risks = risks_of(board, components, sea)
    cell = min(risks, key=lambda cell: (risks[cell], openness(board, cell), cell))
    if risks[cell] == 0:
        if cell in frontier:
            return cell, f"no arrangement of mines that fits the numbers has one at {board.place(cell)}."
        return cell, f"all {board.num_mines} mines lie beside open numbers, so {board.place(cell)} is safe."
    arrangements = arrangements_of(board, components, sea)
    if arrangements is not None:
        best = Endgame(board, arrangements).best()
        if best is not None:
            cell, chance = best
            return cell, (
                f"nothing is certain. {len(arrangements)} arrangements of mines are left, and opening "
                f"{board.place(cell)} wins in {chance:.0%} of them, no other cell in more."
            )
    return cell, (
        f"nothing is certain. {board.place(cell)} is a mine in {risks[cell]:.0%} of the arrangements that fit, "
        "no other cell in fewer."
    )
