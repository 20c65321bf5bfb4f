r"""Push every box onto a target.

Rules:
    You walk through a room of `dim_room` rows and columns, one cell up, down, left or right at a time. Walking
    against a box pushes it one cell further, if that cell is neither wall nor box; boxes cannot be pulled. The room is
    solved when every box is on a target. Each room is made backwards from its solved state, so it can always be solved
    within the turn limit. In small rooms a box may already be on a target at the start.

Actions:
    `\boxed{up}`, `\boxed{down}`, `\boxed{left}` or `\boxed{right}`.

Rewards:
    1 for solving the room, 0 for any other move. If the turn limit ends the episode, the last turn earns the share of
    boxes that are on targets. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Sokoban-v0`. The room is written in the usual text notation of Sokoban levels, with
    `-` for floor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.envs.games.sokoban_rooms import (
    BOX,
    BOX_ON_TARGET,
    FLOOR,
    PLAYER,
    PLAYER_ON_TARGET,
    TARGET,
    WALL,
    make_room,
)
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randbelow
from gem.views import Cell, GridView

DIRECTIONS = ("up", "down", "left", "right")
MIN_SIDE, MAX_SIDE = 5, 16
TURNS_PER_BOX = 8
"""With fewer turns for each box, rooms are those of this many, and most of them cannot be solved within the limit."""
RANDOM_PARAMETERS = (((6, 6), 2, 20), ((8, 8), 5, 50))
"""Size, boxes and turn limit: what the `random` difficulty draws from."""


@dataclass(frozen=True, slots=True)
class Config:
    """Either no value is None or all are; then all are drawn for each episode, as in the `random` difficulty."""

    dim_room: tuple[int, int] | None
    num_boxes: int | None
    max_turns: int | None


class Sokoban(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(up|down|left|right)}", re.IGNORECASE | re.ASCII)
    prompt = "What is your move?"

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
            max_boxes = (size[0] - 2) * (size[1] - 2) // 6
            if not 1 <= num_boxes <= max_boxes:
                raise InvalidArgument(
                    f"A room of {size[0]} by {size[1]} takes 1 to {max_boxes} boxes, not {num_boxes}."
                )
            if max_turns < 1:
                raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(size, num_boxes, max_turns)
        self.max_turns = 0 if dim_room is None else max_turns or 0
        self.width = 0
        """The number of columns, plus one for the line break."""
        self.cells: list[str] = []
        """The symbols of the room, row by row from the top, each row followed by a line break."""
        self.start = ""
        """The room as the episode began."""
        self.path = ""
        """The first letters of all moves of the episode, including those that changed nothing."""
        self._player = 0
        """The player's position, as an index into `cells`."""
        self._num_off_target = 0
        """The number of boxes that are not on a target."""

    def _draw(self) -> None:
        config = self.config
        if config.dim_room is None:
            (rows, cols), num_boxes, self.max_turns = choice(self.rng, RANDOM_PARAMETERS)
        else:
            (rows, cols), num_boxes, self.max_turns = config.dim_room, config.num_boxes, config.max_turns
        self.start = make_room(self.rng, rows, cols, num_boxes, max(self.max_turns, TURNS_PER_BOX * num_boxes))
        self._set_room(self.start)
        self.path = ""

    def _set_room(self, room: str) -> None:
        self.cells = list(room)
        self.width = room.index("\n") + 1
        self._player = max(room.find(PLAYER), room.find(PLAYER_ON_TARGET))
        self._num_off_target = room.count(BOX)

    def _instructions(self) -> str:
        return (
            "This is Sokoban. Push every box onto a target: walking against a box pushes it one cell further, unless a "
            f"wall or another box is behind it. Boxes cannot be pulled. You have {self.max_turns} moves.\n"
            f"'{WALL}' is wall, '{FLOOR}' floor, '{TARGET}' a target, '{BOX}' a box, '{BOX_ON_TARGET}' a box on a "
            f"target, '{PLAYER}' you, '{PLAYER_ON_TARGET}' you on a target.\n"
            "Write your move as \\boxed{up}, \\boxed{down}, \\boxed{left} or \\boxed{right}."
        )

    def _play(self, match: str) -> PlayResult:
        move = match.lower()
        self.path += move[0]
        cells, origin, offset = self.cells, self._player, self._offset(move)
        destination = origin + offset
        ahead = cells[destination]
        if ahead == WALL:
            return f"There is a wall; you did not move {move}.", 0.0, "rule"
        is_push = ahead in {BOX, BOX_ON_TARGET}
        if is_push:
            beyond = cells[destination + offset]
            if beyond not in {FLOOR, TARGET}:
                obstacle = "a wall" if beyond == WALL else "another box"
                return f"There is {obstacle} behind the box; you did not move {move}.", 0.0, "rule"
            self._num_off_target += (beyond == FLOOR) - (ahead == BOX)
            cells[destination + offset] = BOX if beyond == FLOOR else BOX_ON_TARGET
            ahead = FLOOR if ahead == BOX else TARGET
        cells[origin] = FLOOR if cells[origin] == PLAYER else TARGET
        cells[destination] = PLAYER if ahead == FLOOR else PLAYER_ON_TARGET
        self._player = destination
        if self._num_off_target == 0:
            self.over = self.solved = True
            return f"You moved {move} and pushed a box. Every box is on a target.", 1.0, None
        if is_push:
            return f"You moved {move} and pushed a box.", 0.0, None
        return f"You moved {move}.", 0.0, None

    def _offset(self, move: str) -> int:
        return {"up": -self.width, "down": self.width, "left": -1, "right": 1}[move]

    def _reward_at_limit(self, reward: float) -> float:
        boxes = self.boxes
        return (boxes - self._num_off_target) / boxes

    @property
    def boxes(self) -> int:
        """The number of boxes in the room."""
        return self._num_off_target + self.cells.count(BOX_ON_TARGET)

    def _suffix(self) -> str:
        return f"{''.join(self.cells)}{self.prompt}"

    def _format_help(self) -> str:
        return (
            "There is no move in your answer. Write it as \\boxed{up}, \\boxed{down}, \\boxed{left} or "
            "\\boxed{right}. The episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{DIRECTIONS[randbelow(rng, 4)]}}}"

    def _get_own_state(self) -> State:
        return {"room": "".join(self.cells), "start": self.start, "path": self.path}

    def _set_own_state(self, state: State) -> None:
        self._set_room(state["room"])
        self.start, self.path = state["start"], state["path"]

    def view(self, seat: int = 0) -> GridView:
        """The room. A click on a cell next to the player walks there."""
        self._require_reset()
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
            facts=[("Boxes on targets", f"{self.boxes - self._num_off_target} of {self.boxes}")],
            legend=[("arrow keys", "move"), ("click beside you", "move")],
        )
        if not self.over:
            view["keys"] = {f"Arrow{move.capitalize()}": f"\\boxed{{{move}}}" for move in DIRECTIONS}
        return view

    def _cell(self, row: int, col: int, symbol: str, act: str | None) -> Cell:
        position = f"Row {row}, column {col}"
        if symbol == WALL:
            return Cell(tone="wall", label=f"{position}: wall")
        cell = Cell(tone="floor", label=f"{position}: {_SYMBOL_NAMES[symbol]}")
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


_SYMBOL_NAMES = {
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
        InvalidArgument: if it is not a pair of lengths that a room can have.
    """
    if len(dim_room) != 2 or not all(MIN_SIDE <= side <= MAX_SIDE for side in dim_room):
        raise InvalidArgument(f"dim_room is rows and columns, each from {MIN_SIDE} to {MAX_SIDE}, not {dim_room!r}.")
    return dim_room[0], dim_room[1]


register("game:Sokoban-v0", Sokoban, cost="fast")
register("game:Sokoban-v0-easy", Sokoban, cost="fast", dim_room=(6, 6), num_boxes=2, max_turns=20)
register("game:Sokoban-v0-hard", Sokoban, cost="fast", dim_room=(8, 8), num_boxes=4, max_turns=50)
register("game:Sokoban-v0-random", Sokoban, cost="fast", dim_room=None, num_boxes=None, max_turns=None)
