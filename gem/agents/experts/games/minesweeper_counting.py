"""For the expert for Minesweeper: the visible board, and a count of all arrangements of mines that fit its numbers."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gem.envs.games.minesweeper import FLAG, HIDDEN, neighbours

MAX_NODES = 200_000
"""Partial arrangements that the search in one component may try. Beyond that, risks are only estimated."""
MAX_GROUPS = 300
"""Groups in one component that the search can handle, since its recursion is as deep as there are groups."""

Group = tuple[int, ...]
"""Cells next to exactly the same open cells. They are interchangeable."""
GroupSum = tuple[list[int], int]
"""Indices of groups, and the number of mines in these groups together."""


@dataclass(frozen=True, slots=True)
class MineConstraint:
    """The fact that exactly `mines` of `cells` are mines."""

    cells: frozenset[int]
    mines: int
    origin: int
    """The open cell whose number this is."""


@dataclass(slots=True)
class Board:
    """The visible board. Cells are indices row * cols + column."""

    rows: int
    cols: int
    num_mines: int
    visible_cells: Sequence[str]

    @property
    def hidden_cells(self) -> list[int]:
        """The unopened cells."""
        return [cell for cell, symbol in enumerate(self.visible_cells) if symbol in {HIDDEN, FLAG}]

    def constraints(self) -> list[MineConstraint]:
        """One constraint for each open cell with unopened neighbours."""
        neighbours_of, hidden_cells = neighbours(self.rows, self.cols), set(self.hidden_cells)
        constraints = []
        for cell, symbol in enumerate(self.visible_cells):
            if cell not in hidden_cells and (hidden_neighbours := hidden_cells.intersection(neighbours_of[cell])):
                constraints.append(MineConstraint(frozenset(hidden_neighbours), int(symbol), cell))
        return constraints

    def position_text(self, cell: int) -> str:
        """The row and the column of a cell, in words."""
        return f"row {cell // self.cols}, column {cell % self.cols}"

    def number_text(self, cell: int) -> str:
        """The number and the position of an open cell, in words."""
        return f"the {self.visible_cells[cell]} at {self.position_text(cell)}"


@dataclass(slots=True)
class Component:
    """A connected part of the frontier: groups of cells, connected through the numbers next to them."""

    groups: list[Group]
    constraints: list[GroupSum]
    arrangement_counts: dict[int, int]
    """Number of mines in the component to the number of arrangements with that many mines."""
    group_mine_sums: list[dict[int, int]]
    """For each group, number of mines in the component to the sum of the group's mines over these arrangements."""
    is_complete: bool = True
    """Whether all arrangements were counted."""


def split_components(constraints: Sequence[MineConstraint]) -> Iterator[tuple[list[Group], list[GroupSum]]]:
    """The groups and constraints of each connected part of the frontier.

    Groups are ordered breadth first, so that a search which assigns mines to them in this order completes
    constraints early.
    """
    constraints_of_cell: dict[int, list[int]] = defaultdict(list)
    for i, constraint in enumerate(constraints):
        for cell in constraint.cells:
            constraints_of_cell[cell].append(i)
    cells_of_key: dict[tuple[int, ...], list[int]] = defaultdict(list)  # a group's key is its constraints' indices
    for cell in sorted(constraints_of_cell):
        cells_of_key[tuple(constraints_of_cell[cell])].append(cell)
    keys_of_constraint: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for key in cells_of_key:
        for i in key:
            keys_of_constraint[i].append(key)
    visited: set[tuple[int, ...]] = set()
    for start in cells_of_key:
        if start in visited:
            continue
        visited.add(start)
        order = [start]
        for key in order:  # the list grows during the loop: breadth-first search
            for i in key:
                new_keys = [other_key for other_key in keys_of_constraint[i] if other_key not in visited]
                visited.update(new_keys)
                order += new_keys
        group_indices = {key: index for index, key in enumerate(order)}
        constraint_indices = sorted({i for key in order for i in key})
        group_sums = [
            ([group_indices[key] for key in keys_of_constraint[i]], constraints[i].mines) for i in constraint_indices
        ]
        yield [tuple(cells_of_key[key]) for key in order], group_sums


def count_arrangements(groups: list[Group], constraints: list[GroupSum]) -> Component:
    """The component with these groups and constraints, its arrangements counted."""
    component = Component(groups, constraints, defaultdict(int), [defaultdict(int) for _ in groups])
    search = ComponentSearch(component)
    for group_mines in search.solutions():
        weight = math.prod(
            math.comb(len(group), num_mines) for group, num_mines in zip(groups, group_mines, strict=True)
        )
        total = sum(group_mines)
        component.arrangement_counts[total] += weight
        for mine_sums, num_mines in zip(component.group_mine_sums, group_mines, strict=True):
            mine_sums[total] += weight * num_mines
    component.is_complete = not search.has_given_up
    return component


class ComponentSearch:
    """A search for all ways to distribute mines over the groups of a component so that all constraints hold."""

    def __init__(self, component: Component) -> None:
        self.sizes = [len(group) for group in component.groups]
        self.group_constraints = [
            [i for i, (groups, _) in enumerate(component.constraints) if g in groups] for g in range(len(self.sizes))
        ]
        """For each group the indices of its constraints."""
        self.missing_mines = [mines for _, mines in component.constraints]
        """For each constraint the mines that no group has yet."""
        self.free_cells = [sum(self.sizes[g] for g in groups) for groups, _ in component.constraints]
        """For each constraint the cells of the groups that have not got their mines yet."""
        self.group_mines = [0] * len(self.sizes)
        """For each group its number of mines."""
        self.nodes = 0

    @property
    def has_given_up(self) -> bool:
        """Whether the component is too large to list all solutions."""
        return self.nodes > MAX_NODES or len(self.sizes) > MAX_GROUPS

    def solutions(self, group: int = 0) -> Iterator[list[int]]:
        """The number of mines of each group, for every solution; groups before `group` already have their number.

        All solutions share one list, which the next solution overwrites.
        """
        if self.has_given_up:
            return
        if group == len(self.sizes):
            yield self.group_mines
            return
        missing_mines, free_cells = self.missing_mines, self.free_cells
        size, constraints = self.sizes[group], self.group_constraints[group]
        for i in constraints:
            free_cells[i] -= size
        min_mines = max([0, *(missing_mines[i] - free_cells[i] for i in constraints)])
        max_mines = min([size, *(missing_mines[i] for i in constraints)])
        for num_mines in range(min_mines, max_mines + 1):
            self.nodes += 1
            self.group_mines[group] = num_mines
            for i in constraints:
                missing_mines[i] -= num_mines
            yield from self.solutions(group + 1)
            for i in constraints:
                missing_mines[i] += num_mines
        for i in constraints:
            free_cells[i] += size


def mine_risks(board: Board, components: Sequence[Component], unconstrained: Sequence[int]) -> dict[int, float]:
    """For each unopened cell the share of arrangements in which it is a mine.

    `unconstrained` lists the unopened cells that are not next to an open cell.
    """
    if not all(component.is_complete for component in components):
        return _estimate_risks(board)
    total = combine_counts([component.arrangement_counts for component in components])
    weights = {
        num_mines: arrangements * binomial(len(unconstrained), board.num_mines - num_mines)
        for num_mines, arrangements in total.items()
    }
    total_weight = sum(weights.values())
    risks: dict[int, float] = {}
    for i, component in enumerate(components):
        other_components = [*components[:i], *components[i + 1 :]]
        other_counts = combine_counts([other.arrangement_counts for other in other_components])
        for group, mine_sums in zip(component.groups, component.group_mine_sums, strict=True):
            mine_weight = sum(
                arrangements
                * other_arrangements
                * binomial(len(unconstrained), board.num_mines - num_mines - other_mines)
                for num_mines, arrangements in mine_sums.items()
                for other_mines, other_arrangements in other_counts.items()
            )
            risks.update(dict.fromkeys(group, mine_weight / (total_weight * len(group))))
    if unconstrained:
        mine_weight = sum(weight * (board.num_mines - num_mines) for num_mines, weight in weights.items())
        risks.update(dict.fromkeys(unconstrained, mine_weight / (total_weight * len(unconstrained))))
    return risks


def _estimate_risks(board: Board) -> dict[int, float]:
    """An estimate of the risks when there are too many arrangements to count: the highest risk by any one number."""
    hidden = board.hidden_cells
    min_risk = 1e-9  # not 0, because only a count can show that a cell is safe
    risks = dict.fromkeys(hidden, max(board.num_mines / len(hidden), min_risk))
    constrained_risks: dict[int, float] = {}
    for constraint in board.constraints():
        for cell in constraint.cells:
            constrained_risks[cell] = max(
                constrained_risks.get(cell, min_risk), constraint.mines / len(constraint.cells)
            )
    return {**risks, **constrained_risks}


def combine_counts(counts: Sequence[dict[int, int]]) -> dict[int, int]:
    """Number of mines to number of arrangements, for several independent components together."""
    total = {0: 1}
    for component_counts in counts:
        combined: dict[int, int] = defaultdict(int)
        for (mines, arrangements), (more_mines, more_arrangements) in itertools.product(
            total.items(), component_counts.items()
        ):
            combined[mines + more_mines] += arrangements * more_arrangements
        total = combined
    return total


def binomial(n: int, k: int) -> int:
    """The binomial coefficient, which is 0 for a negative `k`."""
    return math.comb(n, k) if k >= 0 else 0


def count_hidden_neighbours(board: Board, cell: int) -> int:
    """The number of unopened neighbours.

    Of cells with equal risks, one with few unopened neighbours is better: it more often shows a 0 or proves something.
    """
    return sum(
        board.visible_cells[neighbour] in {HIDDEN, FLAG} for neighbour in neighbours(board.rows, board.cols)[cell]
    )
