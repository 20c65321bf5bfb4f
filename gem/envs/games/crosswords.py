r"""Find the words of a small crossword from their clues, letter by letter.

Rules:
    `num_words` words cross each other on the board; each has a clue. A correct letter is written on the board. A
    wrong one is not, and uses up a turn. Rows and columns count from 0. `hardcore` draws harder words.

Actions:
    `\boxed{R C L}` writes the letter L, upper or lower case, into row R, column C. For example `\boxed{0 2 A}`.

Rewards:
    1 / (cells with a letter) for each correct letter, which adds up to 1 for a full board. 0 for any other action.
    -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Crosswords-v0`. The words and clues are our own (`gem/data/clues.jsonl`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gem.core import State
from gem.data.clues import Clue, clues
from gem.envs.game import Game, PlayResult
from gem.envs.games.keyboard import draw_keyboard
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import RandomSource, SplitMix64, choice, randbelow
from gem.views import Cell, Compose, GridView

CLUES_HASH = "6208936d254ee0b4"
"""The first 16 hexadecimal digits of the SHA-256 of `clues.jsonl`."""
MAX_WORDS = 8
MIN_TURNS_PER_WORD = 5
"""With this many turns for each word, boards with no more letters than turns always exist."""
RANDOM_TURNS = 20
"""The turn limit of the `random` difficulty, for up to four words."""
VOID, UNKNOWN = ".", "_"
MAX_DIGITS = 4
"""A number with more digits is outside of every board."""

Cells = dict[tuple[int, int], str]
"""Row and column to letter."""


class WordSlot(NamedTuple):
    """The cells of the board into which a word has to be written, and its clue. Nothing in it is secret."""

    number: int
    """Counted from 1, by the row and then the column of the first cell; slots with the same first cell share it."""
    row: int
    column: int
    down: bool
    length: int
    clue: str

    @property
    def positions(self) -> list[tuple[int, int]]:
        """Row and column of each letter."""
        return [(self.row + i, self.column) if self.down else (self.row, self.column + i) for i in range(self.length)]


class PlacedWord(NamedTuple):
    """A word on a board under construction. Row and column of its first letter may be negative."""

    entry: Clue
    row: int
    column: int
    down: bool


def lay_out(entries: Sequence[Clue], count: int, rng: RandomSource) -> list[PlacedWord]:
    """Place `count` words so that each but the first crosses an earlier one; fewer if the words drawn do not cross."""
    first = PlacedWord(choice(rng, entries), 0, 0, randbelow(rng, 2) == 1)
    placed_words, cells = [first], dict(_letters(first))
    for _ in range(4 * count):
        if len(placed_words) == count:
            break
        entry = choice(rng, entries)
        options = (
            [] if any(word.entry is entry for word in placed_words) else list(_crossings(entry, placed_words, cells))
        )
        if options:
            placed_words.append(choice(rng, options))
            cells.update(_letters(placed_words[-1]))
    return placed_words


def _letters(placed: PlacedWord) -> Iterator[tuple[tuple[int, int], str]]:
    for i, letter in enumerate(placed.entry.word):
        yield (placed.row + i, placed.column) if placed.down else (placed.row, placed.column + i), letter


def _crossings(entry: Clue, placed_words: Sequence[PlacedWord], cells: Cells) -> Iterator[PlacedWord]:
    """The positions at which the word crosses an earlier one and touches no other word."""
    for other in placed_words:
        for (row, column), letter in _letters(other):
            for i, word_letter in enumerate(entry.word):
                if word_letter == letter:
                    down = not other.down
                    option = PlacedWord(entry, row - i * down, column - i * (not down), down)
                    if _is_free(option, cells):
                        yield option


def _is_free(option: PlacedWord, cells: Cells) -> bool:
    along, across = ((1, 0), (0, 1)) if option.down else ((0, 1), (1, 0))
    length = len(option.entry.word)
    for end in (-1, length):
        if (option.row + end * along[0], option.column + end * along[1]) in cells:
            return False
    for (row, column), letter in _letters(option):
        current = cells.get((row, column))
        if current is not None and current != letter:
            return False
        if current is None and (
            (row + across[0], column + across[1]) in cells or (row - across[0], column - across[1]) in cells
        ):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Config:
    """`hardcore` None draws easy or hard words for each episode; `num_words` None means 3, `max_turns` None 20 or, for
    more than four words, five for each."""

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
        min_turns = MIN_TURNS_PER_WORD * (num_words or 3)
        if max_turns is not None and max_turns < min_turns:
            raise InvalidArgument(f"max_turns must be at least {min_turns} for these words, not {max_turns}.")
        self.config = Config(hardcore, max_turns, num_words)
        self.max_turns = max_turns or 0
        self.data_hash = CLUES_HASH
        self.rows = self.cols = 0
        self.solution = ""
        """The letters of the board row by row, VOID for a cell that belongs to no word."""
        self.board: list[str] = []
        """The visible board row by row: for each cell VOID, UNKNOWN or its letter."""
        self.slots: list[WordSlot] = []
        self.wrong_letters: dict[int, str] = {}
        """Cell to the wrong letters that were tried there."""
        self.unknown = self.letters = 0
        """The number of cells without their letter, now and at the start."""
        self.last = -1
        """The cell of the last letter that was tried, -1 for none."""
        self._text = self._clue_text = ""

    def _draw(self) -> None:
        config, rng = self.config, self.rng
        hard = randbelow(rng, 2) == 1 if config.hardcore is None else config.hardcore
        count = 3 if config.num_words is None else config.num_words
        turns = max(RANDOM_TURNS, MIN_TURNS_PER_WORD * count)  # more words hardly ever fit into fewer turns
        self.max_turns = turns if config.max_turns is None else config.max_turns
        entries = clues(hard)
        while True:
            placed_words = lay_out(entries, count, rng)
            cells: Cells = {}
            for placed_word in placed_words:
                cells.update(_letters(placed_word))
            if len(placed_words) == count and len(cells) <= self.max_turns:
                break
        self._crop(placed_words, cells)

    def _crop(self, placed_words: list[PlacedWord], cells: Cells) -> None:
        """Set the board to the smallest rectangle that holds the words."""
        top, left = min(row for row, _ in cells), min(column for _, column in cells)
        self.rows = max(row for row, _ in cells) - top + 1
        self.cols = max(column for _, column in cells) - left + 1
        self.solution = "".join(
            cells.get((row + top, column + left), VOID) for row in range(self.rows) for column in range(self.cols)
        )
        words = [
            (word.row - top, word.column - left, word.down, len(word.entry.word), word.entry.clue)
            for word in placed_words
        ]
        self.slots = number_slots(words)
        self.wrong_letters = {}
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

    def _play(self, match: tuple[str, str, str]) -> PlayResult:
        row_text, column_text, letter = match
        row = int(row_text) if len(row_text) <= MAX_DIGITS else self.rows
        column = int(column_text) if len(column_text) <= MAX_DIGITS else self.cols
        letter = letter.lower()
        if row >= self.rows or column >= self.cols:
            return f"Rows go from 0 to {self.rows - 1} and columns from 0 to {self.cols - 1}.", 0.0, "rule"
        cell = row * self.cols + column
        current = self.board[cell]
        if current != UNKNOWN:
            if current == VOID:
                return f"Row {row}, column {column} is no part of a word.", 0.0, "rule"
            return f"Row {row}, column {column} already has the letter {current.upper()}.", 0.0, "rule"
        self.last = cell
        if self.solution[cell] != letter:
            tried_letters = self.wrong_letters.get(cell, "")
            if letter in tried_letters:
                return f"You have tried {letter.upper()} in row {row}, column {column} before.", 0.0, "rule"
            self.wrong_letters[cell] = tried_letters + letter
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
        # A line has two characters, three for each column, and a line break.
        offset = (row + 1) * (3 * self.cols + 3) + 3 * column + 4
        self._text = f"{self._text[:offset]}{letter.upper()}{self._text[offset + 1 :]}"

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
            "wrong": {str(cell): letters for cell, letters in self.wrong_letters.items()},
            "last": self.last,
        }

    def _set_own_state(self, state: State) -> None:
        self.rows, self.cols = state["rows"], state["cols"]
        self.solution = state["solution"]
        self.slots = number_slots([tuple(slot) for slot in state["slots"]])
        self.wrong_letters = {int(cell): letters for cell, letters in state["wrong"].items()}
        self._set_board(list(state["board"]), state["last"])

    def view(self, seat: int = 0) -> GridView:
        """The board and its clues; the player chooses a cell and then a letter."""
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
        letter, position = self.board[index], f"Row {row}, column {column}"
        if letter == VOID:
            return Cell(tone="void", label=f"{position}: no part of a word")
        if letter == UNKNOWN:
            tried_letters = ", ".join(self.wrong_letters.get(index, "").upper())
            cell = Cell(
                tone="open", label=f"{position}: empty, not {tried_letters}" if tried_letters else f"{position}: empty"
            )
            if not self.over:
                cell["part"] = f"{row} {column}"
        else:
            cell = Cell(tone="entry", label=f"{position}: {letter.upper()}", text=letter.upper())
        if number is not None:
            cell["corner"] = number
            cell["label"] += f", start of {number}"
        if index == self.last:
            cell["last"] = True
        return cell


def number_slots(words: Sequence[tuple[int, int, bool, int, str]]) -> list[WordSlot]:
    """Make slots from (row, column, down, length, clue), numbered and ordered as in a printed crossword."""
    starts = sorted({(row, column) for row, column, *_ in words})
    numbers = {start: number for number, start in enumerate(starts, 1)}
    slots = [
        WordSlot(numbers[row, column], row, column, down, length, clue) for row, column, down, length, clue in words
    ]
    return sorted(slots, key=lambda slot: (slot.down, slot.number))


def _compose() -> Compose:
    return Compose(
        picks=["place", "key"],
        prompts=["Choose an empty cell", "Choose a letter"],
        before="\\boxed{",
        between=" ",
        after="}",
        keys=draw_keyboard({}, {}, playable=True),
        steps_on=True,
    )


register("game:Crosswords-v0", Crosswords, cost="fast")
register("game:Crosswords-v0-easy", Crosswords, cost="fast", hardcore=False, max_turns=30, num_words=3)
register("game:Crosswords-v0-hard", Crosswords, cost="fast", hardcore=True, max_turns=40, num_words=3)
register("game:Crosswords-v0-random", Crosswords, cost="fast", hardcore=None, max_turns=None, num_words=None)
