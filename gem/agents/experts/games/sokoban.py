"""The expert for Sokoban: a search over pushes for a solution that takes no more than the turns left.

The search is A* over states (boxes, player), with the cost in moves. Its heuristic is the cheapest assignment of boxes
to targets, in pushes that each box would need if it were alone in the room. The heuristic is weighted, so that some
solution is found soon rather than the shortest one; a second search with a larger weight follows if the first one ends
without a solution. States from which the room cannot be solved in the turns left are pruned, so the first solution
found is good enough. A box in a cell from which no push leads to a target is a dead end, and so is a block of two by
two boxes and walls with a box off its target. If the room cannot be solved any more, the plan brings as many boxes as
possible onto targets.

A plan is followed as long as the moves of the episode agree with it. It depends only on the first room and the moves
since then, so another process continues with the same plan. The work for a decision is bounded, whatever the size of
the room and the moves of the episode.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gem.agents.agent import Decision
from gem.envs.games.sokoban import DIRECTIONS, Sokoban
from gem.envs.games.sokoban_rooms import (
    BOX,
    BOX_ON_TARGET,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    cells_of,
    pull_distances,
    reachable_layers,
    shift,
)

SEARCHES = ((2, 8_000), (8, 14_000))
"""The searches for a solution: the weight of a push in the heuristic, in moves, and how many pushes are tried.

A weight of 2 is about the cost of a push and the walk before it.
"""
MAX_BEST_EFFORT_PUSHES = 6_000
"""Pushes that the search for most boxes on targets may try, if no solution was found."""
MAX_REPLANNED_PUSHES = 12_000
"""Pushes tried for the plans that the episode has left; after that, a plan begins with the present room."""
MAX_ASSIGNED_BOXES = 6
"""With more boxes, each is assigned to its nearest target, because the work for an assignment doubles with each box."""

State = tuple[int, int]
"""The cells of the boxes, as the bits of an integer, and the player's cell."""


@dataclass(frozen=True, slots=True)
class SokobanPlan:
    """The first letters of moves, their result, and how many pushes were tried to find them."""

    moves: str
    solves: bool
    boxes_on_targets: int
    num_pushes_tried: int


@dataclass(frozen=True, slots=True)
class Room:
    """A room. Cells are numbers row * columns + column, sets of cells the bits of an integer."""

    cols: int
    floor: int
    targets: int
    boxes: int
    player: int

    @staticmethod
    def parse(text: str) -> Room:
        """Parse a room from the text that the environment shows."""
        cols = text.index("\n")
        symbols = text.replace("\n", "")

        def cells(wanted_symbols: str) -> int:
            return sum(1 << i for i, symbol in enumerate(symbols) if symbol in wanted_symbols)

        player = cells(PLAYER + PLAYER_ON_TARGET).bit_length() - 1
        targets = cells(TARGET + BOX_ON_TARGET + PLAYER_ON_TARGET)
        floor = (1 << len(symbols)) - 1 ^ cells(WALL)
        return Room(cols, floor, targets, cells(BOX + BOX_ON_TARGET), player)

    @property
    def offsets(self) -> tuple[int, int, int, int]:
        """The numbers that the moves up, down, left and right add to a cell."""
        return -self.cols, self.cols, -1, 1

    def after_move(self, letter: str) -> Room:
        """The room after a move; the same room if a wall or a second box prevents the move."""
        offset = self.offsets["udlr".index(letter)]
        destination = self.player + offset
        if not self.floor >> destination & 1:
            return self
        boxes = self.boxes
        if boxes >> destination & 1:
            if not (self.floor & ~boxes) >> (destination + offset) & 1:
                return self
            boxes ^= (1 << destination) | (1 << (destination + offset))
        return Room(self.cols, self.floor, self.targets, boxes, destination)


def plan_ahead(env: Sokoban) -> Decision:
    """Make the next move of the current plan, which follows from the moves of the episode so far."""
    rooms = [Room.parse(env.start)]
    for letter in env.path:
        rooms.append(rooms[-1].after_move(letter))
    turns = env.max_turns - env.turn + len(env.path)
    plan, first, work = solve(rooms[0], turns), 0, 0
    for i, letter in enumerate(env.path):
        if plan.moves[i - first : i - first + 1] == letter:
            continue
        work += plan.num_pushes_tried
        first = i + 1 if work <= MAX_REPLANNED_PUSHES else len(env.path)
        plan = solve(rooms[first], turns - first)
        if first == len(env.path):
            break
    return _decide(rooms[-1], plan, len(env.path) - first)


def _decide(room: Room, plan: SokobanPlan, num_done: int) -> Decision:
    if num_done >= len(plan.moves):
        return Decision("\\boxed{up}", "No move brings another box onto a target in the turns that are left.")
    letter = plan.moves[num_done]
    move = DIRECTIONS["udlr".index(letter)]
    moves_left = len(plan.moves) - num_done
    move_text = f"{'Walk' if room.after_move(letter).boxes == room.boxes else 'Push the box'} {move}"
    if not plan.solves:
        note = (
            f"{move_text}. The room cannot be solved in the turns left; "
            f"{plan.boxes_on_targets} boxes can be on targets."
        )
    elif moves_left == 1:
        note = f"{move_text}: that is the last box."
    else:
        note = f"{move_text}: the first of {moves_left} moves that solve the room."
    return Decision(f"\\boxed{{{move}}}", note)


@lru_cache(maxsize=4096)
def solve(room: Room, turns: int) -> SokobanPlan:
    """A plan of at most `turns` moves that solves the room, or else brings most boxes onto targets."""
    return SokobanSearch(room, turns).run()


class SokobanSearch:
    """The search for a plan from one room."""

    def __init__(self, room: Room, turns: int) -> None:
        self.room = room
        self.turns = turns
        self.offsets = room.offsets
        self.distances = [pull_distances(room.cols, room.floor, 1 << target) for target in cells_of(room.targets)]
        live_cells = 0
        for target_distances in self.distances:
            for cell in target_distances:
                live_cells |= 1 << cell
        self.live_cells = live_cells
        self.estimates: dict[int, int | None] = {}
        self.costs: dict[State, int] = {}
        self.parents: dict[State, tuple[State, int, int]] = {}
        self.num_pushes_tried = 0

    def run(self) -> SokobanPlan:
        """A plan that solves the room, or else the best other plan."""
        for weight, max_pushes in SEARCHES:
            if plan := self._solution(weight, max_pushes):
                return plan
        return self._best_effort()

    def _solution(self, weight: int, max_pushes: int) -> SokobanPlan | None:
        """A plan that solves the room, found by A*; None if none was found."""
        start = self.room.boxes, self.room.player
        self.costs, self.parents = {start: 0}, {}
        frontier = [(0, 0, start)]
        last_push = self.num_pushes_tried + max_pushes
        while frontier and self.num_pushes_tried < last_push:
            _, negative_cost, state = heapq.heappop(frontier)
            cost = -negative_cost
            if cost > self.costs[state]:
                continue
            if state[0] == self.room.targets:
                return self._plan(state, solves=True)
            for next_state, num_moves, box, offset in self._pushes(state):
                total = cost + num_moves
                if total >= self.costs.get(next_state, self.turns + 1):
                    continue
                estimate = self._estimate(next_state[0])
                if estimate is None or total + estimate > self.turns:
                    continue
                self.costs[next_state] = total
                self.parents[next_state] = state, box, offset
                heapq.heappush(frontier, (total + weight * estimate, -total, next_state))
        return None

    def _best_effort(self) -> SokobanPlan:
        """A plan that brings most boxes onto targets, found by uniform-cost search."""
        start = self.room.boxes, self.room.player
        self.costs, self.parents = {start: 0}, {}
        frontier = [(0, start)]
        best, most_on_targets = start, self._on_targets(start)
        last_push = self.num_pushes_tried + MAX_BEST_EFFORT_PUSHES
        while frontier and self.num_pushes_tried < last_push:
            cost, state = heapq.heappop(frontier)
            if cost > self.costs[state]:
                continue
            if self._on_targets(state) > most_on_targets:
                best, most_on_targets = state, self._on_targets(state)
            for next_state, num_moves, box, offset in self._pushes(state):
                total = cost + num_moves
                if total < self.costs.get(next_state, self.turns + 1):
                    self.costs[next_state] = total
                    self.parents[next_state] = state, box, offset
                    heapq.heappush(frontier, (total, next_state))
        return self._plan(best, solves=False)

    def _on_targets(self, state: State) -> int:
        return (state[0] & self.room.targets).bit_count()

    def _pushes(self, state: State) -> list[tuple[State, int, int, int]]:
        """For every push the next state, the number of moves including the walk to the box, the box and the offset."""
        boxes, player = state
        free = self.room.floor & ~boxes
        pushes = []
        pushable_boxes = [
            (offset, shift(shift(boxes, -offset) & free, offset) & shift(free & self.live_cells, -offset) & boxes)
            for offset in self.offsets
        ]
        stands = [(offset, shift(cells, -offset)) for offset, cells in pushable_boxes if cells]
        for walk, layer in enumerate(reachable_layers(self.offsets, free, player)):
            for offset, cells in stands:
                for stand in cells_of(cells & layer):
                    box = stand + offset
                    next_boxes = boxes ^ (1 << box) ^ (1 << (box + offset))
                    self.num_pushes_tried += 1
                    if not self._is_frozen(next_boxes, box + offset):
                        pushes.append(((next_boxes, box), walk + 1, box, offset))
        return pushes

    def _is_frozen(self, boxes: int, box: int) -> bool:
        """Whether the box is part of a block of two by two walls and boxes that has a box off its target."""
        solid = boxes | ~self.room.floor
        off_target = boxes & ~self.room.targets
        for row_offset in (-self.room.cols, self.room.cols):
            for column_offset in (-1, 1):
                block = (
                    (1 << box)
                    | (1 << (box + row_offset))
                    | (1 << (box + column_offset))
                    | (1 << (box + row_offset + column_offset))
                )
                if block & solid == block and block & off_target:
                    return True
        return False

    def _estimate(self, boxes: int) -> int | None:
        """A lower bound of the number of pushes to the targets; None if some box has no target for it."""
        if boxes not in self.estimates:
            prices = [[distances.get(box) for distances in self.distances] for box in cells_of(boxes)]
            self.estimates[boxes] = _assign(prices) if len(prices) <= MAX_ASSIGNED_BOXES else _sum_of_lowest(prices)
        return self.estimates[boxes]

    def _plan(self, state: State, *, solves: bool) -> SokobanPlan:
        on_targets, moves = self._on_targets(state), ""
        while state in self.parents:
            state, box, offset = self.parents[state]
            moves = self._walk(state, box - offset) + self._letter(offset) + moves
        return SokobanPlan(moves, solves, on_targets, self.num_pushes_tried)

    def _walk(self, state: State, goal: int) -> str:
        """The moves of a shortest walk to `goal`."""
        boxes, player = state
        free = self.room.floor & ~boxes
        path = []
        for layer in reachable_layers(self.offsets, free, player):
            path.append(layer)
            if layer >> goal & 1:
                break
        letters = []
        for layer in reversed(path[:-1]):
            offset = next(offset for offset in self.offsets if layer >> (goal - offset) & 1)
            letters.append(self._letter(offset))
            goal -= offset
        return "".join(reversed(letters))

    def _letter(self, offset: int) -> str:
        return "udlr"[self.offsets.index(offset)]


def _assign(prices: Sequence[Sequence[int | None]]) -> int | None:
    """The lowest sum of one price from each row, all in different columns; None if every such choice contains a None.

    The result is exact. Dynamic programming over the sets of columns used is fast for the few boxes of a room.
    """
    sums = {0: 0}
    for row in prices:
        next_sums: dict[int, int] = {}
        for used, total in sums.items():
            for column, price in enumerate(row):
                if price is None or used >> column & 1:
                    continue
                key = used | 1 << column
                if total + price < next_sums.get(key, total + price + 1):
                    next_sums[key] = total + price
        sums = next_sums
    return min(sums.values(), default=None)


def _sum_of_lowest(prices: Sequence[Sequence[int | None]]) -> int | None:
    """The sum of the lowest price of each row; None if a row has none."""
    lowest = [min((price for price in row if price is not None), default=None) for row in prices]
    found = [price for price in lowest if price is not None]
    return sum(found) if len(found) == len(lowest) else None
