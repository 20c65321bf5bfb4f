"""For the expert for Minesweeper: when few arrangements of mines are left, the cell with the best chance to win."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from gem.agents.experts.games.minesweeper_counting import Board, Component, ComponentSearch, binomial, combine_counts
from gem.envs.games.minesweeper import neighbours

MAX_ARRANGEMENTS = 60
"""If at most this many arrangements are left, the rest of the episode is searched."""
MAX_NODES = 6_000


def list_arrangements(
    board: Board, components: Sequence[Component], unconstrained: Sequence[int]
) -> list[frozenset[int]] | None:
    """All arrangements that fit the visible board, as sets of mines; None if there are more than `MAX_ARRANGEMENTS`."""
    if not all(component.is_complete for component in components):
        return None
    total = combine_counts([component.arrangement_counts for component in components])
    num_arrangements = sum(
        count * binomial(len(unconstrained), board.num_mines - num_mines) for num_mines, count in total.items()
    )
    if num_arrangements > MAX_ARRANGEMENTS:
        return None
    partial: list[frozenset[int]] = [frozenset()]
    for component in components:
        component_arrangements = [
            frozenset(itertools.chain.from_iterable(cells))
            for mines in ComponentSearch(component).solutions()
            for cells in itertools.product(
                *(
                    itertools.combinations(group, num_mines)
                    for group, num_mines in zip(component.groups, mines, strict=True)
                )
            )
        ]
        partial = [
            first | second
            for first in partial
            for second in component_arrangements
            if len(first) + len(second) <= board.num_mines
        ]
    return [
        mines | frozenset(more_mines)
        for mines in partial
        for more_mines in itertools.combinations(unconstrained, board.num_mines - len(mines))
    ]


class Endgame:
    """A search for the cell that wins most often, with all remaining arrangements equally likely.

    Arrangements are referred to by their indices.
    """

    def __init__(self, board: Board, arrangements: Sequence[frozenset[int]]) -> None:
        self.neighbours = neighbours(board.rows, board.cols)
        self.hidden_cells = frozenset(board.hidden_cells)
        self.arrangements = arrangements
        self.nodes = 0
        self.win_counts: dict[tuple[frozenset[int], tuple[int, ...]], int] = {}

    def find_best_cell(self) -> tuple[int, float] | None:
        """The best cell and the share of arrangements in which it wins; None if the search is too large."""
        possible = tuple(range(len(self.arrangements)))
        wins = {cell: self._wins_by_opening(cell, self.hidden_cells, possible) for cell in sorted(self.hidden_cells)}
        if self.nodes > MAX_NODES:
            return None
        cell = max(wins, key=lambda cell: (wins[cell], -cell))
        return cell, wins[cell] / len(possible)

    def _most_wins(self, hidden_cells: frozenset[int], possible: tuple[int, ...]) -> int:
        """In how many of the possible arrangements the best play opens every safe cell."""
        if len(possible) == 1 or self.nodes > MAX_NODES:
            return len(possible)
        key = hidden_cells, possible
        if key not in self.win_counts:
            most_wins = 0
            for cell in sorted(hidden_cells):
                most_wins = max(most_wins, self._wins_by_opening(cell, hidden_cells, possible))
                if most_wins == len(possible):
                    break
            self.win_counts[key] = most_wins
        return self.win_counts[key]

    def _wins_by_opening(self, cell: int, hidden_cells: frozenset[int], possible: tuple[int, ...]) -> int:
        """In how many of the possible arrangements the best play wins if `cell` is opened first."""
        self.nodes += 1
        outcomes: dict[frozenset[tuple[int, int]], list[int]] = defaultdict(list)
        for i in possible:
            if cell not in self.arrangements[i]:
                outcomes[self._cells_opened(cell, hidden_cells, self.arrangements[i])].append(i)
        wins = 0
        for opened, indices in outcomes.items():
            still_hidden = hidden_cells.difference(opened_cell for opened_cell, _ in opened)
            if len(still_hidden) == len(self.arrangements[indices[0]]):
                wins += len(indices)
            else:
                wins += self._most_wins(still_hidden, tuple(indices))
        return wins

    def _cells_opened(
        self, cell: int, hidden_cells: frozenset[int], mines: frozenset[int]
    ) -> frozenset[tuple[int, int]]:
        """The cells that are opened together with `cell`, and their numbers."""
        numbers: dict[int, int] = {}
        queue = [cell]
        while queue:
            current = queue.pop()
            if current in numbers:
                continue
            numbers[current] = len(mines.intersection(self.neighbours[current]))
            if numbers[current] == 0:
                queue += [neighbour for neighbour in self.neighbours[current] if neighbour in hidden_cells]
        return frozenset(numbers.items())
