"""Sokoban: a search over pushes that keeps within the turns that are left.

A* on (boxes, player) with the cost in moves. The estimate is the cheapest assignment of boxes to targets, by pushes
of a lone box, weighted so that a solution is found soon rather than the shortest; whatever cannot be finished in the
turns left is cut, so the first solution found is good enough. Squares from which no push leads to a target, and boxes
frozen two by two, are dead ends. Where nothing can be solved any more, the plan brings most boxes onto targets.

A plan is followed until somebody leaves it. Which plan that is follows from the room as the episode began and the
moves since, so another process goes on with the same one.
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

MAX_NODES = 40_000
"""States expanded before the search settles for what it has found."""
MAX_EFFORT = 4_000
"""States expanded to bring most boxes onto targets where the room cannot be solved."""
WEIGHT = 2
"""How much an estimated push counts against a move already made: about what a push costs with the walk to it."""

State = tuple[int, int]
"""Boxes, as the bits of an integer, and the player's cell."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Moves, by their first letters, and what they lead to."""

    moves: str
    solves: bool
    boxes_on_targets: int


@dataclass(frozen=True, slots=True)
class Room:
    """A room with cells numbered row * columns + column and sets of cells as the bits of an integer."""

    cols: int
    floor: int
    targets: int
    boxes: int
    player: int

    @staticmethod
    def read(text: str) -> Room:
        """The room in a text as the environment shows it."""
        cols = text.index("\n")
        symbols = text.replace("\n", "")

        def cells(wanted: str) -> int:
            return sum(1 << i for i, symbol in enumerate(symbols) if symbol in wanted)

        player = cells(PLAYER + PLAYER_ON_TARGET).bit_length() - 1
        targets = cells(TARGET + BOX_ON_TARGET + PLAYER_ON_TARGET)
        floor = (1 << len(symbols)) - 1 ^ cells(WALL)
        return Room(cols, floor, targets, cells(BOX + BOX_ON_TARGET), player)

    @property
    def offsets(self) -> tuple[int, int, int, int]:
        """What up, down, left and right add to a cell."""
        return -self.cols, self.cols, -1, 1

    def moved(self, letter: str) -> Room:
        """The room after a move, which may be against a wall."""
        offset = self.offsets["udlr".index(letter)]
        there = self.player + offset
        if not self.floor >> there & 1:
            return self
        boxes = self.boxes
        if boxes >> there & 1:
            if not (self.floor & ~boxes) >> (there + offset) & 1:
                return self
            boxes ^= (1 << there) | (1 << (there + offset))
        return Room(self.cols, self.floor, self.targets, boxes, there)


def plan_ahead(env: Sokoban) -> Decision:
    """The next move of the plan that the episode so far leads to."""
    room = Room.read(env.start)
    turns = env.max_turns - env.turn + len(env.path)
    plan, done = solve(room, turns), 0
    for letter in env.path:
        turns -= 1
        room = room.moved(letter)
        done += 1
        if plan.moves[done - 1 : done] != letter:
            plan, done = solve(room, turns), 0
    return _decide(room, plan, done)


def _decide(room: Room, plan: Plan, done: int) -> Decision:
    if done >= len(plan.moves):
        return Decision("\\boxed{up}", "No move brings another box onto a target in the turns that are left.")
    letter = plan.moves[done]
    move = DIRECTIONS["udlr".index(letter)]
    left = len(plan.moves) - done
    what = f"{'Walk' if room.moved(letter).boxes == room.boxes else 'Push the box'} {move}"
    if not plan.solves:
        note = f"{what}. The room cannot be solved in the turns left; {plan.boxes_on_targets} boxes can be on targets."
    elif left == 1:
        note = f"{what}: that is the last box."
    else:
        note = f"{what}: the first of {left} moves that solve the room."
    return Decision(f"\\boxed{{{move}}}", note)


@lru_cache(maxsize=4096)
def solve(room: Room, turns: int) -> Plan:
    """A plan of at most `turns` moves that solves the room, or that brings most boxes onto targets."""
    return _Search(room, turns).run()


class _Search:
    """One search, from one room."""

    def __init__(self, room: Room, turns: int) -> None:
        self.room = room
        self.turns = turns
        self.offsets = room.offsets
        self.distances = [pull_distances(room.cols, room.floor, 1 << target) for target in cells_of(room.targets)]
        live = 0
        for distance in self.distances:
            for cell in distance:
                live |= 1 << cell
        self.live = live
        self.estimates: dict[int, int | None] = {}
        self.costs: dict[State, int] = {}
        self.parents: dict[State, tuple[State, int, int]] = {}

    def run(self) -> Plan:
        """A plan that solves the room, or the best other one."""
        return self._solution() or self._best_effort()

    def _solution(self) -> Plan | None:
        """A*; states from which the room cannot be solved in time are left out."""
        start = self.room.boxes, self.room.player
        self.costs, self.parents = {start: 0}, {}
        waiting = [(0, 0, start)]
        for _ in range(MAX_NODES):
            if not waiting:
                return None
            _, negative_cost, state = heapq.heappop(waiting)
            cost = -negative_cost
            if cost > self.costs[state]:
                continue
            if state[0] == self.room.targets:
                return self._plan(state, solves=True)
            for after, price, box, offset in self._pushes(state):
                total = cost + price
                if total >= self.costs.get(after, self.turns + 1):
                    continue
                estimate = self._estimate(after[0])
                if estimate is None or total + estimate > self.turns:
                    continue
                self.costs[after] = total
                self.parents[after] = state, box, offset
                heapq.heappush(waiting, (total + WEIGHT * estimate, -total, after))
        return None

    def _best_effort(self) -> Plan:
        """The shortest way to as many boxes on targets as a search by cost finds."""
        start = self.room.boxes, self.room.player
        self.costs, self.parents = {start: 0}, {}
        waiting = [(0, start)]
        best, most = start, self._on_targets(start)
        for _ in range(MAX_EFFORT):
            if not waiting:
                break
            cost, state = heapq.heappop(waiting)
            if cost > self.costs[state]:
                continue
            if self._on_targets(state) > most:
                best, most = state, self._on_targets(state)
            for after, price, box, offset in self._pushes(state):
                total = cost + price
                if total < self.costs.get(after, self.turns + 1):
                    self.costs[after] = total
                    self.parents[after] = state, box, offset
                    heapq.heappush(waiting, (total, after))
        return self._plan(best, solves=False)

    def _on_targets(self, state: State) -> int:
        return (state[0] & self.room.targets).bit_count()

    def _pushes(self, state: State) -> list[tuple[State, int, int, int]]:
        """What every push leads to, its price in moves, the box and the offset."""
        boxes, player = state
        free = self.room.floor & ~boxes
        found = []
        stands = [
            (offset, shift(shift(boxes, -offset) & free, offset) & shift(free & self.live, -offset) & boxes)
            for offset in self.offsets
        ]
        wanted = [(offset, shift(cells, -offset)) for offset, cells in stands if cells]
        for walk, layer in enumerate(reachable_layers(self.offsets, free, player)):
            for offset, cells in wanted:
                for stand in cells_of(cells & layer):
                    box = stand + offset
                    after = boxes ^ (1 << box) ^ (1 << (box + offset))
                    if not self._frozen(after, box + offset):
                        found.append(((after, box), walk + 1, box, offset))
        return found

    def _frozen(self, boxes: int, box: int) -> bool:
        """Whether the box is part of a two by two block of walls and boxes with a box off its target."""
        solid = boxes | ~self.room.floor
        off = boxes & ~self.room.targets
        for down in (-self.room.cols, self.room.cols):
            for right in (-1, 1):
                block = (1 << box) | (1 << (box + down)) | (1 << (box + right)) | (1 << (box + down + right))
                if block & solid == block and block & off:
                    return True
        return False

    def _estimate(self, boxes: int) -> int | None:
        """The cheapest assignment of boxes to targets in pushes; None if there is none."""
        if boxes not in self.estimates:
            self.estimates[boxes] = _assign([[d.get(box) for d in self.distances] for box in cells_of(boxes)])
        return self.estimates[boxes]

    def _plan(self, state: State, *, solves: bool) -> Plan:
        on_targets, moves = self._on_targets(state), ""
        while state in self.parents:
            state, box, offset = self.parents[state]
            moves = self._walk(state, box - offset) + self._letter(offset) + moves
        return Plan(moves, solves, on_targets)

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
    """The lowest sum of prices with each row in another column; None if no assignment avoids every None.

    By dynamic programming over the sets of columns used, row by row: exact, and fast for the few boxes of a room.
    """
    sums = {0: 0}
    for row in prices:
        following: dict[int, int] = {}
        for used, total in sums.items():
            for column, price in enumerate(row):
                if price is None or used >> column & 1:
                    continue
                key = used | 1 << column
                if total + price < following.get(key, total + price + 1):
                    following[key] = total + price
        sums = following
    return min(sums.values(), default=None)
