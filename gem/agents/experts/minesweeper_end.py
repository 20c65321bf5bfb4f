"""Minesweeper's end: when few arrangements of mines are left, the cell from which the rest is most often won."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from gem.agents.experts.minesweeper_counting import Board, Component, Search, comb, joined
from gem.envs.games.minesweeper import neighbours

MAX_ENDGAME = 60
"""Arrangements left at which the rest of the episode is searched."""
MAX_ENDGAME_NODES = 6_000


def arrangements_of(board: Board, components: Sequence[Component], sea: Sequence[int]) -> list[frozenset[int]] | None:
    """All arrangements that fit, if they are few; otherwise None."""
    if not all(component.complete for component in components):
        return None
    total = joined([component.ways for component in components])
    if sum(ways * comb(len(sea), board.num_mines - k) for k, ways in total.items()) > MAX_ENDGAME:
        return None
    partial: list[frozenset[int]] = [frozenset()]
    for component in components:
        own = [
            frozenset(itertools.chain.from_iterable(cells))
            for mines in Search(component).solutions()
            for cells in itertools.product(
                *(itertools.combinations(group, k) for group, k in zip(component.groups, mines, strict=True))
            )
        ]
        partial = [a | b for a in partial for b in own if len(a) + len(b) <= board.num_mines]
    return [
        known | frozenset(rest)
        for known in partial
        for rest in itertools.combinations(sea, board.num_mines - len(known))
    ]


class Endgame:
    """Which cell wins most often, given the arrangements that are left, each as likely as the others."""

    def __init__(self, board: Board, arrangements: Sequence[frozenset[int]]) -> None:
        self.near = neighbours(board.rows, board.cols)
        self.hidden = frozenset(board.hidden)
        self.arrangements = arrangements
        self.nodes = 0
        self.known: dict[tuple[frozenset[int], tuple[int, ...]], int] = {}

    def best(self) -> tuple[int, float] | None:
        """The cell and its chance, or None if the search is too large."""
        everything = tuple(range(len(self.arrangements)))
        wins = {cell: self._wins_by(cell, self.hidden, everything) for cell in sorted(self.hidden)}
        if self.nodes > MAX_ENDGAME_NODES:
            return None
        cell = max(wins, key=lambda cell: (wins[cell], -cell))
        return cell, wins[cell] / len(everything)

    def _most_wins(self, hidden: frozenset[int], left: tuple[int, ...]) -> int:
        """In how many of the arrangements `left` the best play opens every safe cell."""
        if len(left) == 1 or self.nodes > MAX_ENDGAME_NODES:
            return len(left)
        key = hidden, left
        if key not in self.known:
            best = 0
            for cell in sorted(hidden):
                best = max(best, self._wins_by(cell, hidden, left))
                if best == len(left):
                    break
            self.known[key] = best
        return self.known[key]

    def _wins_by(self, cell: int, hidden: frozenset[int], left: tuple[int, ...]) -> int:
        """As `_most_wins`, if `cell` is opened first."""
        self.nodes += 1
        answers: dict[frozenset[tuple[int, int]], list[int]] = defaultdict(list)
        for i in left:
            if cell not in self.arrangements[i]:
                answers[self._opened(cell, hidden, self.arrangements[i])].append(i)
        wins = 0
        for opened, indices in answers.items():
            rest = hidden.difference(place for place, _ in opened)
            if len(rest) == len(self.arrangements[indices[0]]):
                wins += len(indices)
            else:
                wins += self._most_wins(rest, tuple(indices))
        return wins

    def _opened(self, cell: int, hidden: frozenset[int], mines: frozenset[int]) -> frozenset[tuple[int, int]]:
        """The cells that open with `cell`, and their numbers."""
        numbers: dict[int, int] = {}
        waiting = [cell]
        while waiting:
            place = waiting.pop()
            if place in numbers:
                continue
            numbers[place] = len(mines.intersection(self.near[place]))
            if numbers[place] == 0:
                waiting += [other for other in self.near[place] if other in hidden]
        return frozenset(numbers.items())
