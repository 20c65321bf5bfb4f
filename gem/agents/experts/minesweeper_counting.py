"""Minesweeper's board as everybody sees it, and all arrangements of mines that fit its numbers, counted."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gem.envs.games.minesweeper import FLAG, HIDDEN, neighbours

MAX_NODES = 200_000
"""Partial arrangements tried for one component; above that its cells are judged by their numbers alone."""
MAX_GROUPS = 300
"""Groups of cells in one component, for the same reason: the search is as deep as there are groups."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`mines` of `cells` are mines."""

    cells: frozenset[int]
    mines: int
    origin: int
    """The open cell that says so."""


@dataclass(slots=True)
class Board:
    """What everybody sees."""

    rows: int
    cols: int
    num_mines: int
    shown: Sequence[str]

    @property
    def hidden(self) -> list[int]:
        """The unopened cells."""
        return [cell for cell, shown in enumerate(self.shown) if shown in {HIDDEN, FLAG}]

    def rules(self) -> list[Rule]:
        """What the open cells say about the unopened ones."""
        near, hidden = neighbours(self.rows, self.cols), set(self.hidden)
        found = []
        for cell, shown in enumerate(self.shown):
            if cell not in hidden and (around := hidden.intersection(near[cell])):
                found.append(Rule(frozenset(around), int(shown), cell))
        return found

    def place(self, cell: int) -> str:
        """The cell in words."""
        return f"row {cell // self.cols}, column {cell % self.cols}"

    def number(self, cell: int) -> str:
        """An open cell in words."""
        return f"the {self.shown[cell]} at {self.place(cell)}"


@dataclass(slots=True)
class Component:
    """Groups of cells that the same numbers speak of, connected through those numbers.

    The cells of a group are interchangeable, so an arrangement says how many mines each group has.
    """

    groups: list[tuple[int, ...]]
    rules: list[tuple[list[int], int]]
    """Indices of groups, and how many mines they hold together."""
    ways: dict[int, int]
    """Mines in the component to the number of arrangements with so many."""
    group_ways: list[dict[int, int]]
    """For each group: mines in the component to the sum, over those arrangements, of the group's mines."""
    complete: bool = True


def components_of(rules: Sequence[Rule]) -> Iterator[tuple[list[tuple[int, ...]], list[tuple[list[int], int]]]]:
    """The groups and rules of each connected part of the frontier, groups in an order that fills rules early."""
    speakers: dict[int, list[int]] = defaultdict(list)
    for i, rule in enumerate(rules):
        for cell in rule.cells:
            speakers[cell].append(i)
    members: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for cell in sorted(speakers):
        members[tuple(speakers[cell])].append(cell)
    of_rule: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for key in members:
        for i in key:
            of_rule[i].append(key)
    seen: set[tuple[int, ...]] = set()
    for start in members:
        if start in seen:
            continue
        seen.add(start)
        order = [start]
        for key in order:  # grows while it is read: breadth first
            for i in key:
                fresh = [other for other in of_rule[i] if other not in seen]
                seen.update(fresh)
                order += fresh
        index = {key: position for position, key in enumerate(order)}
        involved = sorted({i for key in order for i in key})
        group_rules = [([index[key] for key in of_rule[i]], rules[i].mines) for i in involved]
        yield [tuple(members[key]) for key in order], group_rules


def count(groups: list[tuple[int, ...]], rules: list[tuple[list[int], int]]) -> Component:
    """The arrangements of one connected part, counted."""
    component = Component(groups, rules, defaultdict(int), [defaultdict(int) for _ in groups])
    search = Search(component)
    for mines in search.solutions():
        weight = math.prod(math.comb(len(group), k) for group, k in zip(groups, mines, strict=True))
        total = sum(mines)
        component.ways[total] += weight
        for group_ways, k in zip(component.group_ways, mines, strict=True):
            group_ways[total] += weight * k
    component.complete = not search.given_up
    return component


class Search:
    """Every way to give the groups of a component their mines so that all rules hold."""

    def __init__(self, component: Component) -> None:
        self.sizes = [len(group) for group in component.groups]
        self.speakers = [
            [r for r, (groups, _) in enumerate(component.rules) if g in groups] for g in range(len(self.sizes))
        ]
        self.missing = [mines for _, mines in component.rules]
        self.room = [sum(self.sizes[g] for g in groups) for groups, _ in component.rules]
        self.chosen = [0] * len(self.sizes)
        self.nodes = 0

    @property
    def given_up(self) -> bool:
        """Whether the component was too large to list all solutions."""
        return self.nodes > MAX_NODES or len(self.sizes) > MAX_GROUPS

    def solutions(self, g: int = 0) -> Iterator[list[int]]:
        """Mines per group, in one list that the next solution overwrites; groups before `g` have theirs."""
        if self.given_up:
            return
        if g == len(self.sizes):
            yield self.chosen
            return
        missing, room, size, speakers = self.missing, self.room, self.sizes[g], self.speakers[g]
        for r in speakers:
            room[r] -= size
        low = max([0, *(missing[r] - room[r] for r in speakers)])
        high = min([size, *(missing[r] for r in speakers)])
        for k in range(low, high + 1):
            self.nodes += 1
            self.chosen[g] = k
            for r in speakers:
                missing[r] -= k
            yield from self.solutions(g + 1)
            for r in speakers:
                missing[r] += k
        for r in speakers:
            room[r] += size


def risks_of(board: Board, components: Sequence[Component], sea: Sequence[int]) -> dict[int, float]:
    """For each unopened cell, the share of arrangements in which it is a mine."""
    if not all(component.complete for component in components):
        return _rough_risks(board)
    total = joined([component.ways for component in components])
    weights = {k: ways * comb(len(sea), board.num_mines - k) for k, ways in total.items()}
    everything = sum(weights.values())
    risks: dict[int, float] = {}
    for i, component in enumerate(components):
        others = joined([other.ways for j, other in enumerate(components) if j != i])
        for group, group_ways in zip(component.groups, component.group_ways, strict=True):
            mined = sum(
                ways * other_ways * comb(len(sea), board.num_mines - k - other_k)
                for k, ways in group_ways.items()
                for other_k, other_ways in others.items()
            )
            risks.update(dict.fromkeys(group, mined / (everything * len(group))))
    if sea:
        mined = sum(weight * (board.num_mines - k) for k, weight in weights.items())
        risks.update(dict.fromkeys(sea, mined / (everything * len(sea))))
    return risks


def _rough_risks(board: Board) -> dict[int, float]:
    """A guess at the risks where there are too many arrangements to count: the worst that one number says."""
    hidden = board.hidden
    floor = 1e-9  # counting would be needed to call a cell safe
    risks = dict.fromkeys(hidden, max(board.num_mines / len(hidden), floor))
    spoken: dict[int, float] = {}
    for rule in board.rules():
        for cell in rule.cells:
            spoken[cell] = max(spoken.get(cell, floor), rule.mines / len(rule.cells))
    return {**risks, **spoken}


def joined(parts: Sequence[dict[int, int]]) -> dict[int, int]:
    """Mines to arrangements, for independent parts together."""
    total = {0: 1}
    for ways in parts:
        joined: dict[int, int] = defaultdict(int)
        for (k, a), (m, b) in itertools.product(total.items(), ways.items()):
            joined[k + m] += a * b
        total = joined
    return total


def comb(n: int, k: int) -> int:
    """How many ways there are to choose; 0 for a negative `k`."""
    return math.comb(n, k) if k >= 0 else 0


def openness(board: Board, cell: int) -> int:
    """Unopened neighbours: between equal risks, the cell with fewer more often shows a 0 or decides something."""
    return sum(board.shown[other] in {HIDDEN, FLAG} for other in neighbours(board.rows, board.cols)[cell])
