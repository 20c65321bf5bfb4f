"""Rooms for Sokoban, made backwards from the solved state, so that each can be solved within its turn limit.

For a small room, all states that can be solved are listed and one is drawn; it may already have a box on a target. For
a larger room, the boxes are pulled away from their targets at random.

A set of cells is the bits of one integer, bit number `row * columns + column` for each cell. A shift then moves all
cells of a set at once; the wall around the room keeps it from wrapping around.
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
"""The smallest and the largest share of the cells inside a large room that are floor."""
MAX_SOLUTION_SHARE, MIN_SOLUTION_SHARE = 0.75, 0.25
"""The known solution takes between these shares of the turn limit, because people take detours."""
MIN_PULLS_PER_BOX = 25
"""A large room is accepted after this many pulls for each box, over all attempts."""
TARGET_DRAWS_PER_FLOOR = 6
"""How often targets are drawn for one floor."""
MAX_FLOORS = 400
"""Floors drawn for a large room before giving up, after some seconds; with turns enough for the boxes, tens will do."""
TURNS_PER_SMALL_CELL, TURNS_PER_BOX_AND_CELL, MAX_PLANNED_TURNS = 4, 2, 1000
"""Turns for which there are rooms. If no room is found that takes more turns, one is made for these."""
HOPELESS = 3
"""No small room takes so many times the turns above: a search for one is left out."""
MAX_SMALL_CELLS = 16
"""A room with at most this many cells inside is small: its start is drawn uniformly."""
MIN_SMALL_FLOOR_SHARE = 9 / 16
"""The smallest share of the cells inside a small room that are floor."""
STARTS_FOR_CERTAINTY = 300
"""A small floor is accepted with a probability of its number of starts divided by this one, at most 1."""
MAX_DRAWS = 200_000
"""Small floors drawn before giving up; a room takes some hundreds."""
MIN_SMALL_SOLUTION_SHARE = 0.2
"""The best solution of a small room takes at least this share of the turn limit."""


def shift(cells: int, offset: int) -> int:
    """All `cells`, moved by `offset`."""
    return cells << offset if offset > 0 else cells >> -offset


def cells_of(cells: int) -> Iterator[int]:
    """The indices of `cells`, lowest first."""
    while cells:
        lowest = cells & -cells
        yield lowest.bit_length() - 1
        cells ^= lowest


@dataclass(frozen=True, slots=True)
class RoomStart:
    """The state of a room in which an episode may begin. Sets of cells are bits."""

    floor: int
    targets: int
    boxes: int
    player: int
    score: float
    """How hard the room looks, times a random number, so that easier rooms are also chosen at times."""


def make_room(rng: RandomSource, rows: int, cols: int, num_boxes: int, max_turns: int) -> str:
    """A room as text that can be solved within `max_turns`.

    Raises:
        EnvironmentFailure: if the search for a room has failed.
    """
    cells = (rows - 2) * (cols - 2)
    turns = min(max_turns, MAX_PLANNED_TURNS)
    if cells <= MAX_SMALL_CELLS:
        enough, draw = TURNS_PER_SMALL_CELL * cells, draw_small_start
        turns = turns if turns <= HOPELESS * enough else enough
    else:
        enough, draw = TURNS_PER_BOX_AND_CELL * num_boxes * cells, draw_large_start
    start = draw(rng, rows, cols, num_boxes, turns)
    if start is None and turns > enough:
        start = draw(rng, rows, cols, num_boxes, enough)
    if start is None:
        raise EnvironmentFailure(
            f"No Sokoban room of {rows} by {cols} with {num_boxes} boxes that takes {max_turns} turns was found. "
            "Take fewer boxes or allow more turns."
        )
    return _room_text(start, rows, cols)


# ---------------------------------------------------------------------- small rooms


def draw_small_start(rng: RandomSource, rows: int, cols: int, num_boxes: int, max_turns: int) -> RoomStart | None:
    """A start in a small room; all combinations of connected floor, targets and start are about equally likely.

    For a room of 6 by 6 with 2 boxes and 20 turns there are 5.6 million starts, so hardly any two of 10,000 episodes
    begin alike.
    """
    width = cols - 2
    num_cells = (rows - 2) * width
    target_sets = _target_sets(rows, cols, num_boxes)
    max_moves, min_moves = int(max_turns * MAX_SOLUTION_SHARE), max(int(max_turns * MIN_SMALL_SOLUTION_SHARE), 1)
    for _ in range(MAX_DRAWS):
        floor_bits = randbelow(rng, 1 << num_cells)
        targets = choice(rng, target_sets)
        if floor_bits.bit_count() < MIN_SMALL_FLOOR_SHARE * num_cells:
            continue
        floor = sum((floor_bits >> row * width & (1 << width) - 1) << (row + 1) * cols + 1 for row in range(rows - 2))
        if targets & ~floor or not is_connected(cols, floor):
            continue
        starts = solvable_states(cols, floor, targets, min_moves, max_moves)
        if randbelow(rng, STARTS_FOR_CERTAINTY) < len(starts):
            boxes, player = choice(rng, starts)
            return RoomStart(floor, targets, boxes, player, 0.0)
    return None


@cache
def _target_sets(rows: int, cols: int, num_boxes: int) -> tuple[int, ...]:
    """Every set of `num_boxes` cells inside the room, each as the bits of one integer."""
    cells = [1 << (row * cols + col) for row in range(1, rows - 1) for col in range(1, cols - 1)]
    return tuple(map(sum, itertools.combinations(cells, num_boxes)))


def is_connected(cols: int, floor: int) -> bool:
    """Whether every cell of the floor can be reached from every other one."""
    return sum(reachable_layers((-cols, cols, -1, 1), floor, floor.bit_length() - 1)) == floor


def solvable_states(cols: int, floor: int, targets: int, min_moves: int, max_moves: int) -> list[tuple[int, int]]:
    """Boxes and player of every state whose shortest solution has `min_moves` to `max_moves` moves."""
    layer = [(targets, player) for player in cells_of(floor & ~targets)]
    reached = set(layer)
    starts: list[tuple[int, int]] = []
    for moves in range(1, max_moves + 1):
        layer = _one_move_before(cols, floor, layer, reached)
        if moves >= min_moves:
            starts += [state for state in layer if state[0] != targets]
    return starts


def _one_move_before(
    cols: int, floor: int, layer: list[tuple[int, int]], reached: set[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The states from which one move leads to a state of the layer; they are added to `reached` and were not in it."""
    predecessors = []
    for boxes, player in layer:
        free = floor & ~boxes
        for offset in (-cols, cols, -1, 1):
            origin = player - offset
            if not free >> origin & 1:
                continue
            state = boxes, origin
            if state not in reached:
                reached.add(state)
                predecessors.append(state)
            pushed = 1 << (player + offset)
            if boxes & pushed:
                state = boxes ^ pushed | 1 << player, origin
                if state not in reached:
                    reached.add(state)
                    predecessors.append(state)
    return predecessors


# ---------------------------------------------------------------------- large rooms


def draw_large_start(rng: RandomSource, rows: int, cols: int, num_boxes: int, max_turns: int) -> RoomStart | None:
    """A start found by pulling boxes off their targets; of several, the one with the highest score."""
    best: RoomStart | None = None
    total_pulls = 0
    for _ in range(MAX_FLOORS):
        floor = carve(rng, rows, cols)
        target_cells = list(cells_of(_pullable(cols, floor)))
        for _ in range(TARGET_DRAWS_PER_FLOOR if len(target_cells) >= num_boxes else 0):
            targets = sum(1 << cell for cell in sample(rng, target_cells, num_boxes))
            start, num_pulls = pull_apart(rng, cols, floor, targets, max_turns)
            total_pulls += num_pulls
            if start is not None:
                best = start if best is None or start.score > best.score else best
                break
        if best is not None and total_pulls >= MIN_PULLS_PER_BOX * num_boxes:
            return best
    return None


def carve(rng: RandomSource, rows: int, cols: int) -> int:
    """A connected floor. It grows cell by cell; then cells move, so that no shape is much more likely than others."""
    offsets = (-cols, cols, -1, 1)
    inner_cells = sum(1 << (row * cols + col) for row in range(1, rows - 1) for col in range(1, cols - 1))
    size = (rows - 2) * (cols - 2)
    low, high = (int(size * share) for share in FLOOR_SHARE)
    target_size = randint(rng, low, high)
    floor = 1 << choice(rng, list(cells_of(inner_cells)))
    while floor.bit_count() < target_size:
        floor |= 1 << choice(rng, list(cells_of(_next_to(offsets, floor) & inner_cells & ~floor)))
    for _ in range(size // 2):
        removed = 1 << choice(rng, list(cells_of(floor)))
        remaining = floor ^ removed
        changed_floor = remaining | 1 << choice(
            rng, list(cells_of(_next_to(offsets, remaining) & inner_cells & ~remaining))
        )
        if is_connected(cols, changed_floor):
            floor = changed_floor
    return floor


def _next_to(offsets: Sequence[int], cells: int) -> int:
    a, b, c, d = offsets
    return shift(cells, a) | shift(cells, b) | shift(cells, c) | shift(cells, d)


def pull_apart(rng: RandomSource, cols: int, floor: int, targets: int, max_turns: int) -> tuple[RoomStart | None, int]:
    """Pull the boxes away from their targets at random, with a preference for pulls that lead further away.

    Each pull is a push in reverse, so the pulls and the walks between them are a solution in reverse. Of the states
    without a box on a target whose solution has a suitable length, the one with the highest score is returned (None if
    there is none), with the number of pulls.
    """
    offsets = (-cols, cols, -1, 1)
    max_moves, min_moves = int(max_turns * MAX_SOLUTION_SHARE), int(max_turns * MIN_SOLUTION_SHARE)
    distances = pull_distances(cols, floor, targets)
    boxes, player, moves, last_box, box_changes, pulls = targets, -1, 0, -1, 0, 0
    reached = {boxes}
    best: RoomStart | None = None
    while True:
        options = []
        for box, offset, walk in _pulls(offsets, floor, boxes, player, max_moves - moves):
            next_boxes = boxes ^ (1 << box) ^ (1 << (box - offset))
            if next_boxes not in reached:
                gain = distances[box - offset] - distances[box]
                options.append((gain + 0.5 * (box == last_box) + 3 * rng.random(), box, offset, walk, next_boxes))
        if not options:
            return best, pulls
        _, box, offset, walk, boxes = max(options)
        box_changes += box != last_box
        last_box, player = box - offset, box - 2 * offset
        moves += walk + 1
        pulls += 1
        reached.add(boxes)
        if moves >= min_moves and not boxes & targets:
            score = rng.random() * (sum(distances[cell] for cell in cells_of(boxes)) + 1.5 * box_changes)
            if best is None or score > best.score:
                start_cell = _walk_back(rng, offsets, floor & ~boxes, player, max_moves - moves)
                best = RoomStart(floor, targets, boxes, start_cell, score)


def _pullable(cols: int, floor: int) -> int:
    """The cells from which a box can be pulled, because the two next cells in some direction are floor."""
    cells = 0
    for offset in (-cols, cols, -1, 1):
        cells |= shift(floor, offset) & shift(floor, 2 * offset) & floor
    return cells


def _pulls(offsets: Sequence[int], floor: int, boxes: int, player: int, budget: int) -> Iterator[tuple[int, int, int]]:
    """Every possible pull as (box, offset, walk), found by asking which push could have been the last one.

    That push moved the box by `offset` to the cell `box`, and `walk` moves lead from where the player then stood to
    the cell `player`. A `player` of -1 may be anywhere.
    """
    free = floor & ~boxes
    push_ends = [(offset, free & shift(free, offset) & shift(boxes, -offset)) for offset in offsets]
    for walk, layer in enumerate([free] if player < 0 else reachable_layers(offsets, free, player)):
        if walk >= budget:
            return
        for offset, cells in push_ends:
            for cell in cells_of(cells & layer):
                yield cell + offset, offset, walk


def reachable_layers(offsets: Sequence[int], free: int, player: int) -> Iterator[int]:
    """The cells that the player can reach in exactly 0, 1, 2 ... moves, each layer as bits."""
    layer = 1 << player
    unreached = free & ~layer
    while layer:
        yield layer
        layer = _next_to(offsets, layer) & unreached
        unreached &= ~layer


def pull_distances(cols: int, floor: int, targets: int) -> dict[int, int]:
    """For each cell from which a box can be pushed to a target, if no other box is there, the fewest pushes needed."""
    distances = dict.fromkeys(cells_of(targets), 0)
    layer, pushes = targets, 0
    while layer:
        pushes += 1
        reached = 0
        for offset in (-cols, cols, -1, 1):
            reached |= shift(layer, -offset) & floor & shift(floor, offset)
        layer = 0
        for cell in cells_of(reached):
            if cell not in distances:
                distances[cell] = pushes
                layer |= 1 << cell
    return distances


def _walk_back(rng: RandomSource, offsets: Sequence[int], free: int, player: int, budget: int) -> int:
    """A cell for the player to begin in, from which at most `budget` moves lead to `player`."""
    reached = itertools.islice(reachable_layers(offsets, free, player), budget + 1)
    return choice(rng, [cell for layer in reached for cell in cells_of(layer)])


def _room_text(start: RoomStart, rows: int, cols: int) -> str:
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
