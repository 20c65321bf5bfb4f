r"""Push every box onto a target.

Rules:
    The player walks through a room of `dim_room` rows and columns, one cell up, down, left or right at a time. Walking
    against a box pushes it one cell further, if that cell is neither wall nor box; boxes cannot be pulled. The room is
    solved when every box stands on a target. Each room is made from the seed, backwards from its solved state, so it
    can always be solved within the turn limit.

Actions:
    `\boxed{up}`, `\boxed{down}`, `\boxed{left}` or `\boxed{right}`.

Rewards:
    1 for solving the room, 0 for any other move. At the turn limit the share of boxes that stand on targets. -0.1 for
    an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Sokoban-v0`. The picture uses the usual text notation of Sokoban levels, with `-` for
    floor.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gem.core import State
from gem.draw import Mixer, Source, below, between, choice, sample
from gem.envs.game import Game, Played
from gem.errors import EnvironmentFailure, InvalidArgument
from gem.registry import register
from gem.views import Cell, GridView

WALL, FLOOR, TARGET, BOX, BOX_ON_TARGET, PLAYER, PLAYER_ON_TARGET = "#-.$*@+"
DIRECTIONS = ("up", "down", "left", "right")
MIN_SIDE, MAX_SIDE = 5, 16
RANDOM_PARAMETERS = (((6, 6), 2, 20), ((8, 8), 5, 50))
"""Size, boxes and turns that the `random` difficulty draws from."""

# Making a room
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


@dataclass(frozen=True, slots=True)
class Config:
    """None draws all three anew for each episode, as the `random` difficulty does."""

    dim_room: tuple[int, int] | None
    num_boxes: int | None
    max_turns: int | None


class Sokoban(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(up|down|left|right)}", re.IGNORECASE | re.ASCII)

    def __init__(
        self,
        dim_room: Sequence[int] | None = (6, 6),
        num_boxes: int | None = 2,
        max_turns: int | None = 20,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if (dim_room is None) != (num_boxes is None) or (dim_room is None) != (max_turns is None):
            raise InvalidArgument("Give dim_room, num_boxes and max_turns, or None for all three.")
        size = None
        if dim_room is not None and num_boxes is not None and max_turns is not None:
            size = _check_size(dim_room)
            most = (size[0] - 2) * (size[1] - 2) // 6
            if not 1 <= num_boxes <= most:
                raise InvalidArgument(f"A room of {size[0]} by {size[1]} takes 1 to {most} boxes, not {num_boxes}.")
            if max_turns < 8 * num_boxes:
                raise InvalidArgument(f"{num_boxes} boxes need at least {8 * num_boxes} turns, not {max_turns}.")
        self.config = Config(size, num_boxes, max_turns)
        self.width = 0
        """Columns, and one more for the line break."""
        self.cells: list[str] = []
        """What everybody sees, rows from top to bottom, each ending in a line break."""
        self.start = ""
        """The room as the episode began."""
        self.path = ""
        """The first letters of the moves since then."""
        self._player = 0
        self._off_target = 0

    def _draw(self) -> None:
        config = self.config
        if config.dim_room is None:
            (rows, cols), num_boxes, self.max_turns = choice(self.rng, RANDOM_PARAMETERS)
        else:
            (rows, cols), num_boxes, self.max_turns = config.dim_room, config.num_boxes, config.max_turns
        self.start = make_room(self.rng, rows, cols, num_boxes, self.max_turns)
        self._put(self.start)
        self.path = ""

    def _put(self, room: str) -> None:
        self.cells = list(room)
        self.width = room.index("\n") + 1
        self._player = max(room.find(PLAYER), room.find(PLAYER_ON_TARGET))
        self._off_target = room.count(BOX)

    def _instructions(self) -> str:
        return (
            "This is Sokoban. Push every box onto a target: walking against a box pushes it one cell further, unless a "
            f"wall or another box is behind it. Boxes cannot be pulled. You have {self.max_turns} moves.\n"
            f"'{WALL}' is wall, '{FLOOR}' floor, '{TARGET}' a target, '{BOX}' a box, '{BOX_ON_TARGET}' a box on a "
            f"target, '{PLAYER}' you, '{PLAYER_ON_TARGET}' you on a target.\n"
            "Write your move as \\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}."
        )

    def _play(self, match: str) -> Played:
        move = match.lower()
        self.path += move[0]
        cells, here, offset = self.cells, self._player, self._offset(move)
        there = here + offset
        ahead = cells[there]
        if ahead == WALL:
            return f"There is a wall; you did not move {move}.", 0.0, "rule"
        pushes = ahead in {BOX, BOX_ON_TARGET}
        if pushes:
            beyond = cells[there + offset]
            if beyond not in {FLOOR, TARGET}:
                what = "a wall" if beyond == WALL else "another box"
                return f"There is {what} behind the box; you did not move {move}.", 0.0, "rule"
            self._off_target += (beyond == FLOOR) - (ahead == BOX)
            cells[there + offset] = BOX if beyond == FLOOR else BOX_ON_TARGET
            ahead = FLOOR if ahead == BOX else TARGET
        cells[here] = FLOOR if cells[here] == PLAYER else TARGET
        cells[there] = PLAYER if ahead == FLOOR else PLAYER_ON_TARGET
        self._player = there
        if self._off_target == 0:
            self.over = self.solved = True
            return f"You moved {move} and pushed a box. Every box is on a target.", 1.0, None
        if pushes:
            return f"You moved {move} and pushed a box.", 0.0, None
        return f"You moved {move}.", 0.0, None

    def _offset(self, move: str) -> int:
        return {"up": -self.width, "down": self.width, "left": -1, "right": 1}[move]

    def _reward_at_limit(self, reward: float) -> float:
        boxes = self.boxes
        return (boxes - self._off_target) / boxes

    @property
    def boxes(self) -> int:
        """How many boxes there are."""
        return self._off_target + self.cells.count(BOX_ON_TARGET)

    def _suffix(self) -> str:
        return f"{''.join(self.cells)}What is your move?"

    def _format_help(self) -> str:
        return (
            "There is no move in your answer. Write it as \\boxed{up}, \\boxed{down}, \\boxed{left} or "
            "\\boxed{right}. The episode ends."
        )

    def _random_action(self, rng: Mixer) -> str:
        return f"\\boxed{{{DIRECTIONS[below(rng, 4)]}}}"

    def _get_own_state(self) -> State:
        return {"room": "".join(self.cells), "start": self.start, "path": self.path}

    def _set_own_state(self, state: State) -> None:
        self._put(state["room"])
        self.start, self.path = state["start"], state["path"]

    def view(self, seat: int = 0) -> GridView:
        """The room; a click beside the player walks there."""
        rows = "".join(self.cells).splitlines()
        acts: dict[int, str] = {}
        if not self.over:
            acts = {self._player + self._offset(move): f"\\boxed{{{move}}}" for move in DIRECTIONS}
        view = GridView(
            kind="grid",
            name=f"Sokoban, {len(rows)} rows, {len(rows[0])} columns",
            rows=[
                [self._cell(i, j, symbol, acts.get(i * self.width + j)) for j, symbol in enumerate(row)]
                for i, row in enumerate(rows)
            ],
            room=True,
            facts=[("Boxes on targets", f"{self.boxes - self._off_target} of {self.boxes}")],
            legend=[("arrow keys", "move"), ("click beside you", "move")],
        )
        if not self.over:
            view["keys"] = {f"Arrow{move.capitalize()}": f"\\boxed{{{move}}}" for move in DIRECTIONS}
        return view

    def _cell(self, row: int, col: int, symbol: str, act: str | None) -> Cell:
        place = f"Row {row}, column {col}"
        if symbol == WALL:
            return Cell(tone="wall", label=f"{place}: wall")
        cell = Cell(tone="floor", label=f"{place}: {_NAMES[symbol]}")
        if symbol in {TARGET, BOX_ON_TARGET, PLAYER_ON_TARGET}:
            cell["target"] = True
        if symbol in {BOX, BOX_ON_TARGET}:
            cell["piece"] = "box"
        elif symbol == TARGET:
            cell["piece"] = "target"
        elif symbol != FLOOR:
            cell["piece"] = "player"
            cell["last"] = bool(self.path)
        if act is not None:
            cell["act"] = act
        return cell


_NAMES = {
    FLOOR: "floor",
    TARGET: "target",
    BOX: "box",
    BOX_ON_TARGET: "box on a target",
    PLAYER: "you",
    PLAYER_ON_TARGET: "you, on a target",
}


def _check_size(dim_room: Sequence[int]) -> tuple[int, int]:
    """The size as (rows, columns).

    Raises:
        InvalidArgument: if it is no pair of lengths that a room can have.
    """
    if len(dim_room) != 2 or not all(MIN_SIDE <= side <= MAX_SIDE for side in dim_room):
        raise InvalidArgument(f"dim_room is rows and columns, each from {MIN_SIDE} to {MAX_SIDE}, not {dim_room!r}.")
    return dim_room[0], dim_room[1]


# ---------------------------------------------------------------------- making a room, backwards
#
# Sets of cells are the bits of one integer (cell = row * columns + column), so that all cells move at once by a
# shift. The wall around the room keeps shifts from wrapping.


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


def make_room(rng: Source, rows: int, cols: int, num_boxes: int, max_turns: int) -> str:
    """A room as text, solvable within `max_turns`; several are tried, and the harder ones are kept more often.

    Raises:
        EnvironmentFailure: if no room was found.
    """
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
            return _draw_room(best, rows, cols)
    raise EnvironmentFailure(f"No Sokoban room of {rows} by {cols} with {num_boxes} boxes was found.")


def carve(rng: Source, rows: int, cols: int) -> int:
    """A connected piece of floor: it grows cell by cell, then cells move, so that no shape is much more likely."""
    offsets = (-cols, cols, -1, 1)
    inside = sum(1 << (row * cols + col) for row in range(1, rows - 1) for col in range(1, cols - 1))
    size = (rows - 2) * (cols - 2)
    low, high = (int(size * share) for share in FLOOR_SHARE)
    wanted = between(rng, low, high)
    floor = 1 << choice(rng, list(bits(inside)))
    while floor.bit_count() < wanted:
        floor |= 1 << choice(rng, list(bits(_beside(offsets, floor) & inside & ~floor)))
    for _ in range(size // 2):
        gone = 1 << choice(rng, list(bits(floor)))
        rest = floor ^ gone
        moved = rest | 1 << choice(rng, list(bits(_beside(offsets, rest) & inside & ~rest)))
        if sum(layers(offsets, moved, rest.bit_length() - 1)) == moved:
            floor = moved
    return floor


def _beside(offsets: Sequence[int], cells: int) -> int:
    a, b, c, d = offsets
    return shift(cells, a) | shift(cells, b) | shift(cells, c) | shift(cells, d)


def pull_apart(rng: Source, cols: int, floor: int, targets: int, max_turns: int) -> tuple[Start | None, int]:
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


def _step_back(rng: Source, offsets: Sequence[int], free: int, player: int, budget: int) -> int:
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


register("game:Sokoban-v0", Sokoban)
register("game:Sokoban-v0-easy", Sokoban, dim_room=(6, 6), num_boxes=2, max_turns=20)
register("game:Sokoban-v0-hard", Sokoban, dim_room=(8, 8), num_boxes=4, max_turns=50)
register("game:Sokoban-v0-random", Sokoban, dim_room=None, num_boxes=None, max_turns=None)
