r"""Find the words of a small crossword from their clues, letter by letter.

Rules:
    `num_words` words cross each other on the board; each has a clue. A right letter is written down, a wrong one is
    not and uses up a turn. Rows and columns count from 0. `hardcore` draws from the harder words.

Actions:
    `\boxed{R C L}` writes the letter L into row R, column C, for example `\boxed{0 2 A}`; capital or small.

Rewards:
    1 / (cells with a letter) for each right letter: 1 in all for a full board. 0 for any other action, -0.1 for one
    that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Crosswords-v0`; words and clues are our own (`gem/data/clues.jsonl`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gem.core import State
from gem.data.clues import Clue, clues
from gem.envs.game import Game, Played
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import RandomSource, SplitMix64, choice, randbelow
from gem.views import Cell, Compose, GridView

CLUES_HASH = "6208936d254ee0b4"
"""The first 16 digits of the SHA-256 of `clues.jsonl`."""
MAX_WORDS = 8
TURNS_PER_WORD = 5
"""With so many turns for each word there are always boards whose letters fit into the turns."""
RANDOM_TURNS = 20
VOID, UNKNOWN = ".", "_"
MAX_DIGITS = 4
"""Longer numbers are off any board."""
KEYBOARD = ("QWERTYUIOP", "ASDFGHJKL", "ZXCVBNM")

Cells = dict[tuple[int, int], str]


class Slot(NamedTuple):
    """A place for a word, as everybody sees it."""

    number: int
    """Slots count from 1 by row and column; two that begin in one cell share the number."""
    row: int
    column: int
    down: bool
    length: int
    clue: str

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of each letter."""
        return [(self.row + i, self.column) if self.down else (self.row, self.column + i) for i in range(self.length)]


class Placed(NamedTuple):
    """A word on a board that is being laid out; rows and columns may be negative."""

    entry: Clue
    row: int
    column: int
    down: bool


def lay_out(entries: Sequence[Clue], count: int, rng: RandomSource) -> list[Placed]:
    """`count` words of which each crosses an earlier one; fewer if the words drawn do not cross."""
    first = Placed(choice(rng, entries), 0, 0, randbelow(rng, 2) == 1)
    placed, cells = [first], dict(_letters(first))
    for _ in range(4 * count):
        if len(placed) == count:
            break
        entry = choice(rng, entries)
        options = [] if any(p.entry is entry for p in placed) else list(_crossings(entry, placed, cells))
        if options:
            placed.append(choice(rng, options))
            cells.update(_letters(placed[-1]))
    return placed


def _letters(placed: Placed) -> Iterator[tuple[tuple[int, int], str]]:
    for i, letter in enumerate(placed.entry.word):
        yield (placed.row + i, placed.column) if placed.down else (placed.row, placed.column + i), letter


def _crossings(entry: Clue, placed: Sequence[Placed], cells: Cells) -> Iterator[Placed]:
    """Where the word may cross an earlier one without touching any other."""
    for other in placed:
        for (row, column), letter in _letters(other):
            for i, own in enumerate(entry.word):
                if own == letter:
                    down = not other.down
                    option = Placed(entry, row - i * down, column - i * (not down), down)
                    if _is_free(option, cells):
                        yield option


def _is_free(option: Placed, cells: Cells) -> bool:
    step, side = ((1, 0), (0, 1)) if option.down else ((0, 1), (1, 0))
    length = len(option.entry.word)
    for end in (-1, length):
        if (option.row + end * step[0], option.column + end * step[1]) in cells:
            return False
    for (row, column), letter in _letters(option):
        present = cells.get((row, column))
        if present is not None and present != letter:
            return False
        if present is None and (
            (row + side[0], column + side[1]) in cells or (row - side[0], column - side[1]) in cells
        ):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Config:
    """`hardcore` None draws the half of the dictionary for each episode, `max_turns` None stands for 20."""

    hardcore: bool | None
    max_turns: int | None
    num_words: int | None


class Crosswords(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed\{(\d+)\s+(\d+)\s+([a-zA-Z])\}")
    prompt = "Which letter do you write, and where?"

    def __init__(
        self,
        hardcore: bool | None = False,
        max_turns: int | None = 30,
        num_words: int | None = 3,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if num_words is not None and not 1 <= num_words <= MAX_WORDS:
            raise InvalidArgument(f"num_words must be from 1 to {MAX_WORDS}, not {num_words}.")
        least = TURNS_PER_WORD * (num_words or 3)
        if max_turns is not None and max_turns < least:
            raise InvalidArgument(f"max_turns must be at least {least} for these words, not {max_turns}.")
        self.config = Config(hardcore, max_turns, num_words)
        self.data_hash = CLUES_HASH
        self.rows = self.cols = 0
        self.solution = ""
        """The letters of the board row by row, VOID where no word is."""
        self.board: list[str] = []
        """What everybody sees: VOID, UNKNOWN or the letter."""
        self.slots: list[Slot] = []
        self.wrong: dict[int, str] = {}
        """The wrong letters that were tried, by cell."""
        self.unknown = self.letters = 0
        """How many cells wait for a letter, now and at the start."""
        self.last = -1
        self._text = self._clue_text = ""

    def _draw(self) -> None:
        config, rng = self.config, self.rng
        hard = randbelow(rng, 2) == 1 if config.hardcore is None else config.hardcore
        count = 3 if config.num_words is None else config.num_words
        self.max_turns = RANDOM_TURNS if config.max_turns is None else config.max_turns
        entries = clues(hard)
        while True:
            placed = lay_out(entries, count, rng)
            cells: Cells = {}
            for word in placed:
                cells.update(_letters(word))
            if len(placed) == count and len(cells) <= self.max_turns:
                break
        self._crop(placed, cells)

    def _crop(self, placed: list[Placed], cells: Cells) -> None:
        """Make the board the smallest rectangle around the words."""
        top, left = min(row for row, _ in cells), min(column for _, column in cells)
        self.rows = max(row for row, _ in cells) - top + 1
        self.cols = max(column for _, column in cells) - left + 1
        self.solution = "".join(
            cells.get((row + top, column + left), VOID) for row in range(self.rows) for column in range(self.cols)
        )
        words = [(p.row - top, p.column - left, p.down, len(p.entry.word), p.entry.clue) for p in placed]
        self.slots = number_slots(words)
        self.wrong = {}
        self._set_board([VOID if letter == VOID else UNKNOWN for letter in self.solution], -1)

    def _set_board(self, board: list[str], last: int) -> None:
        self.board, self.last = board, last
        self.unknown = board.count(UNKNOWN)
        self.letters = len(self.solution) - self.solution.count(VOID)
        lines = ["  " + "".join(f"{column:3}" for column in range(self.cols))]
        for row in range(self.rows):
            letters = board[row * self.cols : (row + 1) * self.cols]
            lines.append(f"{row:2}" + "".join(f"{letter.upper():>3}" for letter in letters))
        self._text = "\n".join(lines)
        self._clue_text = "\n".join(
            f"Row {slot.row}, column {slot.column}, {'down' if slot.down else 'across'}, "
            f"{slot.length} letters: {slot.clue}."
            for slot in self.slots
        )

    def _instructions(self) -> str:
        return (
            f"This is a crossword with {len(self.slots)} words. Find them from their clues and write them down letter "
            f"by letter; {self.letters} letters are missing, and you have {self.max_turns} turns. Wrong letters are "
            "not written down.\n"
            "Rows and columns count from 0. On the board, '_' waits for a letter and '.' is no part of a word.\n"
            "Write \\boxed{R C L} to put the letter L into row R, column C, for example \\boxed{0 2 A}."
        )

    def _play(self, match: tuple[str, str, str]) -> Played:
        row_text, column_text, letter = match
        row = int(row_text) if len(row_text) <= MAX_DIGITS else self.rows
        column = int(column_text) if len(column_text) <= MAX_DIGITS else self.cols
        letter = letter.lower()
        if row >= self.rows or column >= self.cols:
            return f"Rows go from 0 to {self.rows - 1} and columns from 0 to {self.cols - 1}.", 0.0, "rule"
        cell = row * self.cols + column
        present = self.board[cell]
        if present != UNKNOWN:
            if present == VOID:
                return f"Row {row}, column {column} is no part of a word.", 0.0, "rule"
            return f"Row {row}, column {column} already has the letter {present.upper()}.", 0.0, "rule"
        self.last = cell
        if self.solution[cell] != letter:
            tried = self.wrong.get(cell, "")
            if letter in tried:
                return f"You have tried {letter.upper()} in row {row}, column {column} before.", 0.0, "rule"
            self.wrong[cell] = tried + letter
            return f"{letter.upper()} is wrong in row {row}, column {column}.", 0.0, None
        self._write(cell, letter)
        text = f"{letter.upper()} is right in row {row}, column {column}."
        if not self.unknown:
            self.over = self.solved = True
            text += " The board is full."
        return text, 1 / self.letters, None

    def _write(self, cell: int, letter: str) -> None:
        self.board[cell] = letter
        self.unknown -= 1
        row, column = divmod(cell, self.cols)
        at = (row + 1) * (3 * self.cols + 3) + 3 * column + 4  # a line is two characters, three a column and its end
        self._text = f"{self._text[:at]}{letter.upper()}{self._text[at + 1 :]}"

    def _suffix(self) -> str:
        return f"{self._text}\n{self._clue_text}\n{self.prompt}"

    def _format_help(self) -> str:
        return (
            "There is no action in your answer. Write it as \\boxed{R C L} with a row, a column and one letter. The "
            "episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        open_cells = [cell for cell, letter in enumerate(self.board) if letter != VOID]
        row, column = divmod(choice(rng, open_cells), self.cols)
        return f"\\boxed{{{row} {column} {chr(65 + randbelow(rng, 26))}}}"

    def _get_own_state(self) -> State:
        return {
            "rows": self.rows,
            "cols": self.cols,
            "solution": self.solution,
            "board": "".join(self.board),
            "slots": [[slot.row, slot.column, slot.down, slot.length, slot.clue] for slot in self.slots],
            "wrong": {str(cell): tried for cell, tried in self.wrong.items()},
            "last": self.last,
        }

    def _set_own_state(self, state: State) -> None:
        self.rows, self.cols = state["rows"], state["cols"]
        self.solution = state["solution"]
        self.slots = number_slots([tuple(slot) for slot in state["slots"]])
        self.wrong = {int(cell): tried for cell, tried in state["wrong"].items()}
        self._set_board(list(state["board"]), state["last"])

    def view(self, seat: int = 0) -> GridView:
        """The board and its clues; choose a cell, then a letter."""
        numbers = {(slot.row, slot.column): str(slot.number) for slot in self.slots}
        view = GridView(
            kind="grid",
            name=f"Crossword, {self.rows} rows, {self.cols} columns",
            rows=[
                [self._cell(row, column, numbers.get((row, column))) for column in range(self.cols)]
                for row in range(self.rows)
            ],
            coords=True,
            facts=[("Letters missing", str(self.unknown))],
            notes=[("Across", self._notes(down=False)), ("Down", self._notes(down=True))],
            legend=[("click", "choose a cell"), ("A to Z", "write the letter"), ("arrow keys", "move")],
        )
        if not self.over:
            view["compose"] = _compose()
        return view

    def _notes(self, *, down: bool) -> list[str]:
        return [f"{slot.number}. {slot.clue} ({slot.length})" for slot in self.slots if slot.down == down]

    def _cell(self, row: int, column: int, number: str | None) -> Cell:
        index = row * self.cols + column
        letter, place = self.board[index], f"Row {row}, column {column}"
        if letter == VOID:
            return Cell(tone="void", label=f"{place}: no part of a word")
        if letter == UNKNOWN:
            tried = ", ".join(self.wrong.get(index, "").upper())
            cell = Cell(tone="open", label=f"{place}: empty, not {tried}" if tried else f"{place}: empty")
            if not self.over:
                cell["part"] = f"{row} {column}"
        else:
            cell = Cell(tone="entry", label=f"{place}: {letter.upper()}", text=letter.upper())
        if number is not None:
            cell["corner"] = number
            cell["label"] += f", start of {number}"
        if index == self.last:
            cell["last"] = True
        return cell


def number_slots(words: Sequence[tuple[int, int, bool, int, str]]) -> list[Slot]:
    """Slots in the order of a printed crossword, from (row, column, down, length, clue)."""
    starts = sorted({(row, column) for row, column, *_ in words})
    numbers = {start: number for number, start in enumerate(starts, 1)}
    slots = [Slot(numbers[row, column], row, column, down, length, clue) for row, column, down, length, clue in words]
    return sorted(slots, key=lambda slot: (slot.down, slot.number))


def _compose() -> Compose:
    return Compose(
        picks=["place", "key"],
        prompts=["Choose an empty cell", "Choose a letter"],
        before="\\boxed{",
        between=" ",
        after="}",
        keys=[[{"text": letter, "label": letter, "part": letter} for letter in row] for row in KEYBOARD],
    )


register("game:Crosswords-v0", Crosswords)
register("game:Crosswords-v0-easy", Crosswords, hardcore=False, max_turns=30, num_words=3)
register("game:Crosswords-v0-hard", Crosswords, hardcore=True, max_turns=40, num_words=3)
register("game:Crosswords-v0-random", Crosswords, hardcore=None, max_turns=None, num_words=None)
