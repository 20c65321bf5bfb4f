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
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gem.agents.agent import Decision
from gem.envs.games.minesweeper import FLAG, HIDDEN, Minesweeper, neighbours

MAX_NODES = 200_000
"""Partial arrangements tried for one component; above that its cells are judged by their numbers alone."""
MAX_GROUPS = 300
"""Groups of cells in one component, for the same reason: the search is as deep as there are groups."""
MAX_ENDGAME = 60
"""Arrangements left at which the rest of the episode is searched."""
MAX_ENDGAME_NODES = 6_000


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


def deduce(env: Minesweeper) -> Decision:
    """Open a cell that is proved safe, or the one with the best chance."""
    board = Board(env.rows, env.cols, env.num_mines, list(env.shown))
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


# ---------------------------------------------------------------------- step 2: all arrangements


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


def counted(board: Board, rules: Sequence[Rule]) -> tuple[int, str]:
    """The best cell by counting all arrangements that fit, and why."""
    components = [_count(groups, group_rules) for groups, group_rules in _components(rules)]
    frontier = {cell for component in components for group in component.groups for cell in group}
    sea = [cell for cell in board.hidden if cell not in frontier]
    risks = _risks(board, components, sea)
    cell = min(risks, key=lambda cell: (risks[cell], _openness(board, cell), cell))
    if risks[cell] == 0:
        if cell in frontier:
            return cell, f"no arrangement of mines that fits the numbers has one at {board.place(cell)}."
        return cell, f"all {board.num_mines} mines lie beside open numbers, so {board.place(cell)} is safe."
    arrangements = _arrangements(board, components, sea)
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


def _components(rules: Sequence[Rule]) -> Iterator[tuple[list[tuple[int, ...]], list[tuple[list[int], int]]]]:
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


def _count(groups: list[tuple[int, ...]], rules: list[tuple[list[int], int]]) -> Component:
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


def _risks(board: Board, components: Sequence[Component], sea: Sequence[int]) -> dict[int, float]:
    """For each unopened cell, the share of arrangements in which it is a mine."""
    if not all(component.complete for component in components):
        return _rough_risks(board)
    total = _joined([component.ways for component in components])
    weights = {k: ways * _comb(len(sea), board.num_mines - k) for k, ways in total.items()}
    everything = sum(weights.values())
    risks: dict[int, float] = {}
    for i, component in enumerate(components):
        others = _joined([other.ways for j, other in enumerate(components) if j != i])
        for group, group_ways in zip(component.groups, component.group_ways, strict=True):
            mined = sum(
                ways * other_ways * _comb(len(sea), board.num_mines - k - other_k)
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


def _joined(parts: Sequence[dict[int, int]]) -> dict[int, int]:
    """Mines to arrangements, for independent parts together."""
    total = {0: 1}
    for ways in parts:
        joined: dict[int, int] = defaultdict(int)
        for (k, a), (m, b) in itertools.product(total.items(), ways.items()):
            joined[k + m] += a * b
        total = joined
    return total


def _comb(n: int, k: int) -> int:
    return math.comb(n, k) if k >= 0 else 0


def _openness(board: Board, cell: int) -> int:
    """Unopened neighbours: between equal risks, the cell with fewer more often shows a 0 or decides something."""
    return sum(board.shown[other] in {HIDDEN, FLAG} for other in neighbours(board.rows, board.cols)[cell])


# ---------------------------------------------------------------------- step 3: the end, searched


def _arrangements(board: Board, components: Sequence[Component], sea: Sequence[int]) -> list[frozenset[int]] | None:
    """All arrangements that fit, if they are few; otherwise None."""
    if not all(component.complete for component in components):
        return None
    total = _joined([component.ways for component in components])
    if sum(ways * _comb(len(sea), board.num_mines - k) for k, ways in total.items()) > MAX_ENDGAME:
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
