"""Rooms for Sokoban, made backwards from the solved state, so that each can be solved within its turn limit.

In a small room all states that can be solved are listed and one is drawn, which may have a box on a target already; in
a larger one the boxes are pulled away from their targets at random. Sets of cells are the bits of one integer (cell =
row * columns + column), so that all cells move at once by a shift; the wall around the room keeps shifts from wrapping.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from gem.errors import EnvironmentFailure
from gem.rng import RandomSource, choice, randbelow, randint, sample

WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = "#-.$*@+"
FLOOR_SHARE = (0.6, 0.85)
"""How much of the inside is floor, at least and at most."""
LONGEST, SHORTEST = 0.75, 0.25
"""The known solution takes at most and at least these shares of the turn limit: people take detours."""
PULLS_PER_BOX = 25
"""Pulls tried for one room, over all attempts."""
TARGETS_PER_FLOOR = 6
"""Ways to place the targets that are tried on one floor."""
MAX_FLOORS = 2000
"""Floors tried before giving up; the arguments that are allowed need a few."""
MOST_CELLS = 16
"""A room with at most so many cells inside is drawn uniformly."""
FEWEST_CELLS = 9 / 16
"""Of those cells, at least this share is floor."""
MANY_STARTS = 300
"""A small floor with so many starts is always taken, one with fewer in proportion to them."""
MAX_DRAWS = 200_000
"""Small floors drawn before giving up; a room takes some hundreds."""
SHORTEST_SMALL = 0.2
"""As `SHORTEST`, in small rooms."""


def shift(cells: int, offset: int) -> int:
    """All `cells`, moved by `offset`."""
    return cells << offset if offset > 0 else cells >> -offset


def bits(cells: int) -> Iterator[int]:
    """The indices of `cells`, lowest first."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest


@dataclass(frozen=True, slots=True)
class Start:
    """A room in which to begin."""

    floor: int
    targets: int
    boxes: int
    player: int
    score: float
    """How hard it looks, times a random number, so that easier ones are taken as well."""


def make_room(rng: RandomSource, rows: int, cols: int, num_boxes: int, max_turns: int) -> str:
    """A room as text, solvable within `max_turns`.

    Raises:
        EnvironmentFailure: if no room was found.
    """
    draw = draw_small if (rows - 2) * (cols - 2) <= MOST_CELLS else draw_large
    start = draw(rng, rows, cols, num_boxes, max_turns)
    if start is None:
        raise EnvironmentFailure(f"No Sokoban room of {rows} by {cols} with {num_boxes} boxes was found.")
    return _draw_room(start, rows, cols)


# ---------------------------------------------------------------------- small rooms


def draw_small(rng: RandomSource, rows: int, cols: int, num_boxes: int, max_turns: int) -> Start | None:
    """A start of a small room: of all connected floors, targets and starts, each is about as likely.

    There are 5.6 million of 6 by 6 with 2 boxes and 20 turns, so that of 10,000 episodes hardly any begin alike.
    """
    wide = cols - 2
    inside = (rows - 2) * wide
    targets_of = _sets(rows, cols, num_boxes)
    longest, shortest = int(max_turns * LONGEST), max(int(max_turns * SHORTEST_SMALL), 1)
    for _ in range(MAX_DRAWS):
        drawn = randbelow(rng, 1 << inside)
        targets = choice(rng, targets_of)
        if drawn.bit_count() < FEWEST_CELLS * inside:
            continue
        floor = sum((drawn >> row * wide & (1 << wide) - 1) << (row + 1) * cols + 1 for row in range(rows - 2))
        if targets & ~floor or not is_connected(cols, floor):
            continue
        starts = all_starts(cols, floor, targets, shortest, longest)
        if randbelow(rng, MANY_STARTS) < len(starts):
            boxes, player = choice(rng, starts)
            return Start(floor, targets, boxes, player, 0.0)
    return None


@cache
def _sets(rows: int, cols: int, num_boxes: int) -> tuple[int, ...]:
    """Every set of `num_boxes` cells inside the room."""
    cells = [1 << (row * cols + col) for row in range(1, rows - 1) for col in range(1, cols - 1)]
    return tuple(map(sum, itertools.combinations(cells, num_boxes)))


def is_connected(cols: int, floor: int) -> bool:
    """Whether every cell of the floor can be reached from every other."""
    return sum(layers((-cols, cols, -1, 1), floor, floor.bit_length() - 1)) == floor


def all_starts(cols: int, floor: int, targets: int, shortest: int, longest: int) -> list[tuple[int, int]]:
    """Boxes and player of every state that the best play solves in `shortest` to `longest` moves."""
    layer = [(targets, player) for player in bits(floor & ~targets)]
    seen = set(layer)
    starts: list[tuple[int, int]] = []
    for moves in range(1, longest + 1):
        layer = _one_move_before(cols, floor, layer, seen)
        if moves >= shortest:
            starts += [state for state in layer if state[0] != targets]
    return starts


def _one_move_before(
    cols: int, floor: int, layer: list[tuple[int, int]], seen: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The states not yet `seen` from which one move leads to a state of the layer."""
    before = []
    for boxes, player in layer:
        free = floor & ~boxes
        for offset in (-cols, cols, -1, 1):
            came_from = player - offset
            if not free >> came_from & 1:
                continue
            state = boxes, came_from
            if state not in seen:
                seen.add(state)
                before.append(state)
            pushed = 1 << (player + offset)
            if boxes & pushed:
                state = boxes ^ pushed | 1 << player, came_from
                if state not in seen:
                    seen.add(state)
                    before.append(state)
    return before


# ---------------------------------------------------------------------- large rooms


def draw_large(rng: RandomSource, rows: int, cols: int, num_boxes: int, max_turns: int) -> Start | None:
    """A start found by pulling boxes apart; several are tried, and the harder ones are kept more often."""
    best: Start | None = None
    pulls = 0
    for _ in range(MAX_FLOORS):
        floor = carve(rng, rows, cols)
        places = list(bits(_pullable(cols, floor)))
        for _ in range(TARGETS_PER_FLOOR if len(places) >= num_boxes else 0):
            targets = sum(1 << cell for cell in sample(rng, places, num_boxes))
            found, used = pull_apart(rng, cols, floor, targets, max_turns)
            pulls += used
            if found is not None:
                best = found if best is None or found.score > best.score else best
                break
        if best is not None and pulls >= PULLS_PER_BOX * num_boxes:
            return best
    return None


def carve(rng: RandomSource, rows: int, cols: int) -> int:
    """A connected piece of floor: it grows cell by cell, then cells move, so that no shape is much more likely."""
    offsets = (-cols, cols, -1, 1)
    inside = sum(1 << (row * cols + col) for row in range(1, rows - 1) for col in range(1, cols - 1))
    size = (rows - 2) * (cols - 2)
    low, high = (int(size * share) for share in FLOOR_SHARE)
    wanted = randint(rng, low, high)
    floor = 1 << choice(rng, list(bits(inside)))
    while floor.bit_count() < wanted:
        floor |= 1 << choice(rng, list(bits(_beside(offsets, floor) & inside & ~floor)))
    for _ in range(size // 2):
        gone = 1 << choice(rng, list(bits(floor)))
        rest = floor ^ gone
        moved = rest | 1 << choice(rng, list(bits(_beside(offsets, rest) & inside & ~rest)))
        if is_connected(cols, moved):
            floor = moved
    return floor


def _beside(offsets: Sequence[int], cells: int) -> int:
    a, b, c, d = offsets
    return shift(cells, a) | shift(cells, b) | shift(cells, c) | shift(cells, d)


def pull_apart(rng: RandomSource, cols: int, floor: int, targets: int, max_turns: int) -> tuple[Start | None, int]:
    """Pull the boxes away from their targets at random, rather away than back.

    Each pull, read backwards, is a push, so the pulls and the walks between them are a solution. Returns one of the
    states on the way that have no box on a target and a solution of a fitting length, and how many pulls were made.
    """
    offsets = (-cols, cols, -1, 1)
    longest, shortest = int(max_turns * LONGEST), int(max_turns * SHORTEST)
    away = pull_distances(cols, floor, targets)
    boxes, player, moves, last_box, changes, pulls = targets, -1, 0, -1, 0, 0
    seen = {boxes}
    best: Start | None = None
    while True:
        options = []
        for box, offset, walk in _pulls(offsets, floor, boxes, player, longest - moves):
            after = boxes ^ (1 << box) ^ (1 << (box - offset))
            if after not in seen:
                gain = away[box - offset] - away[box]
                options.append((gain + 0.5 * (box == last_box) + 3 * rng.random(), box, offset, walk, after))
        if not options:
            return best, pulls
        _, box, offset, walk, boxes = max(options)
        changes += box != last_box
        last_box, player = box - offset, box - 2 * offset
        moves += walk + 1
        pulls += 1
        seen.add(boxes)
        if moves >= shortest and not boxes & targets:
            score = rng.random() * (sum(away[cell] for cell in bits(boxes)) + 1.5 * changes)
            if best is None or score > best.score:
                place = _step_back(rng, offsets, floor & ~boxes, player, longest - moves)
                best = Start(floor, targets, boxes, place, score)


def _pullable(cols: int, floor: int) -> int:
    """The cells from which a box can be pulled: two cells of floor lie beside them in a line."""
    cells = 0
    for offset in (-cols, cols, -1, 1):
        cells |= shift(floor, offset) & shift(floor, 2 * offset) & floor
    return cells


def _pulls(offsets: Sequence[int], floor: int, boxes: int, player: int, budget: int) -> Iterator[tuple[int, int, int]]:
    """Every (box, offset, walk): the box was pushed by `offset`, and `walk` moves lead to where that push ended.

    A `player` of -1 may begin anywhere.
    """
    free = floor & ~boxes
    ends = [(offset, free & shift(free, offset) & shift(boxes, -offset)) for offset in offsets]
    for walk, layer in enumerate([free] if player < 0 else layers(offsets, free, player)):
        if walk >= budget:
            return
        for offset, cells in ends:
            for cell in bits(cells & layer):
                yield cell + offset, offset, walk


def layers(offsets: Sequence[int], free: int, player: int) -> Iterator[int]:
    """The cells that the player reaches in 0, 1, 2 ... moves."""
    layer = 1 << player
    left = free & ~layer
    while layer:
        yield layer
        layer = _beside(offsets, layer) & left
        left &= ~layer


def pull_distances(cols: int, floor: int, targets: int) -> dict[int, int]:
    """For each cell from which a lone box can be pushed to a target, the fewest pushes that takes."""
    distances = dict.fromkeys(bits(targets), 0)
    layer, pushes = targets, 0
    while layer:
        pushes += 1
        reached = 0
        for offset in (-cols, cols, -1, 1):
            reached |= shift(layer, -offset) & floor & shift(floor, offset)
        layer = 0
        for cell in bits(reached):
            if cell not in distances:
                distances[cell] = pushes
                layer |= 1 << cell
    return distances


def _step_back(rng: RandomSource, offsets: Sequence[int], free: int, player: int, budget: int) -> int:
    """Where the player begins: somewhere from which at most `budget` moves lead to `player`."""
    reached = itertools.islice(layers(offsets, free, player), budget + 1)
    return choice(rng, [cell for layer in reached for cell in bits(layer)])


def _draw_room(start: Start, rows: int, cols: int) -> str:
    lines = []
    for row in range(rows):
        line = ""
        for cell in range(row * cols, row * cols + cols):
            target = start.targets >> cell & 1
            if not start.floor >> cell & 1:
                line += WALL
            elif start.boxes >> cell & 1:
                line += BOX_ON_TARGET if target else BOX
            elif cell == start.player:
                line += PLAYER_ON_TARGET if target else PLAYER
            else:
                line += TARGET if target else FLOOR
        lines.append(line)
    return "\n".join([*lines, ""])
