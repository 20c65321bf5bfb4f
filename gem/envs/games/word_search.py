r"""Find listed words among the letters of a square board.

Rules:
    `num_words` words are hidden on the board, each once, from left to right or from top to bottom; words may cross.
    All other letters are random. You mark a word by its first and last letter, in either order. Rows and columns count
    from 0. `hardcore` hides rarer and longer words.

Actions:
    `\boxed{R1 C1 R2 C2}` marks the letters from row R1, column C1 to row R2, column C2, for example
    `\boxed{0 3 0 7}`.

Rewards:
    1 / `num_words` for each word found, which adds up to 1. 0 for any other action. -0.1 for an action that cannot be
    parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:WordSearch-v0`. Words: see gem/data/words/README.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gem.core import State
from gem.data.words import COMMON_HASH, WORDS_HASH, all_words, common
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randbelow
from gem.views import Cell, Compose, GridView

COMMON_LENGTHS = range(4, 11)
MIN_HARD_LENGTH, MAX_HARD_LENGTH = 6, 12
MAX_WORDS = 12
SIDE_PER_LETTER = 1.5
"""The side of the board divided by the length of the longest word."""
MAX_PLACEMENTS_PER_WORD = 100
"""Positions tried for a word before a new board is drawn."""
MAX_DIGITS = 4
"""A number with more digits is outside of every board."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def lexicon(hard: bool) -> tuple[str, ...]:
    """The words that may be hidden, in lower case."""
    if hard:
        return all_words(MIN_HARD_LENGTH, MAX_HARD_LENGTH)
    return tuple(word for length in COMMON_LENGTHS for word in common(length))


@dataclass(frozen=True, slots=True)
class Config:
    """`hardcore` None draws easy or hard words for each episode; `num_words` None means 5, `max_turns` None 20."""

    num_words: int | None
    max_turns: int | None
    hardcore: bool | None


class WordSearch(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed\{(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\}")
    prompt = "Which word do you mark?"

    def __init__(
        self,
        num_words: int | None = 5,
        max_turns: int | None = 20,
        hardcore: bool | None = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if num_words is not None and not 1 <= num_words <= MAX_WORDS:
            raise InvalidArgument(f"num_words must be from 1 to {MAX_WORDS}, not {num_words}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(num_words, max_turns, hardcore)
        self.max_turns = max_turns or 0
        self.data_hash = COMMON_HASH + WORDS_HASH if hardcore is None else WORDS_HASH if hardcore else COMMON_HASH
        self.size = 0
        self.board = ""
        """The letters row by row, in upper case."""
        self.words: list[str] = []
        """The words to find, in upper case and alphabetical order."""
        self.found_words: dict[int, tuple[int, int]] = {}
        """For each word found its index in `words`, with its first and last cell, in the order of finding."""
        self._words_by_ends: dict[tuple[int, int], int] = {}
        """The solution: the first and last cell of each word, with its index in `words`."""
        self._board_text = bytearray()
        """The board as ASCII text, with the letters of found words in lower case."""
        self._text = ""

    def _draw(self) -> None:
        config = self.config
        hard = randbelow(self.rng, 2) == 1 if config.hardcore is None else config.hardcore
        count = 5 if config.num_words is None else config.num_words
        self.max_turns = 20 if config.max_turns is None else config.max_turns
        while not self._hide(lexicon(hard), count):
            pass
        self.found_words = {}
        self._write_text()

    def _hide(self, words: tuple[str, ...], count: int) -> bool:
        """Draw words and hide them on a new board; False if they do not fit or a word can be read in two places."""
        rng = self.rng
        hidden = [choice(rng, words).upper() for _ in range(count)]
        size = int(max(map(len, hidden)) * SIDE_PER_LETTER)
        cells = [""] * size**2
        ends: dict[str, tuple[int, int]] = {}
        for word in sorted(hidden, key=len, reverse=True):
            for _ in range(MAX_PLACEMENTS_PER_WORD):
                step = choice(rng, (1, size))
                position, line = randbelow(rng, size - len(word) + 1), randbelow(rng, size)
                first_cell = line * size + position if step == 1 else position * size + line
                last_cell = first_cell + (len(word) - 1) * step
                if all(
                    cells[cell] in ("", letter)
                    for cell, letter in zip(range(first_cell, last_cell + 1, step), word, strict=True)
                ):
                    break
            else:
                return False
            cells[first_cell : last_cell + 1 : step] = word
            ends[word] = first_cell, last_cell
        board = "".join([letter or LETTERS[int(rng.random() * 26)] for letter in cells])
        if len(ends) < count or any(_count_occurrences(board, size, word) != 1 for word in hidden):
            return False
        self.size, self.board, self.words = size, board, sorted(hidden)
        self._words_by_ends = {ends[word]: index for index, word in enumerate(self.words)}
        return True

    def _write_text(self) -> None:
        size, letters = self.size, self.board
        lines = ["  " + "".join(f"{column:3}" for column in range(size))]
        lines += [f"{row:2}  {'  '.join(letters[row * size : row * size + size])}" for row in range(size)]
        self._board_text = bytearray("\n".join(lines), "ascii")
        for first_cell, last_cell in self.found_words.values():
            self._write_small(first_cell, last_cell)
        self._finish_text()

    def _write_small(self, first_cell: int, last_cell: int) -> None:
        size, text = self.size, self._board_text
        width = 3 * size + 3  # of a line: three characters for each column, two more before the first, a line break
        for cell in cells_between(first_cell, last_cell, size):
            row, column = divmod(cell, size)
            text[(row + 1) * width + 3 * column + 4] |= 0x20  # the bit that makes an ASCII letter lower case

    def _finish_text(self) -> None:
        remaining_words = [word for index, word in enumerate(self.words) if index not in self.found_words]
        found_words = [self.words[index] for index in self.found_words]
        self._text = (
            f"{self._board_text.decode()}\nTo find: {', '.join(remaining_words) or 'none'}. "
            f"Found: {', '.join(found_words) or 'none'}.\n{self.prompt}"
        )

    def _instructions(self) -> str:
        return (
            f"This is a word search on {self.size} rows and {self.size} columns of letters. {len(self.words)} words "
            f"are hidden, each reading from left to right or from top to bottom: {', '.join(self.words)}. Find them in "
            f"at most {self.max_turns} turns.\n"
            "Rows and columns count from 0. Letters of found words are shown small.\n"
            "Write \\boxed{R1 C1 R2 C2} to mark the word from row R1, column C1 to row R2, column C2, for example "
            "\\boxed{0 3 0 7}."
        )

    def _play(self, match: tuple[str, str, str, str]) -> PlayResult:
        size = self.size
        r1, c1, r2, c2 = [int(text) if len(text) <= MAX_DIGITS else size for text in match]
        if not (r1 < size and c1 < size and r2 < size and c2 < size):
            return f"Rows and columns go from 0 to {size - 1}.", 0.0, "rule"
        first_cell, last_cell = r1 * size + c1, r2 * size + c2
        if first_cell > last_cell:
            first_cell, last_cell = last_cell, first_cell
        index = self._words_by_ends.get((first_cell, last_cell))
        if index is None:
            if r1 != r2 and c1 != c2:
                return "Words run along a row or down a column, not across both.", 0.0, "rule"
            letters = self.board[first_cell : last_cell + 1 : 1 if r1 == r2 else size]
            return f"{letters} is not one of the words in its place.", 0.0, None
        if index in self.found_words:
            return f"You have found {self.words[index]} before.", 0.0, "rule"
        self.found_words[index] = first_cell, last_cell
        self._write_small(first_cell, last_cell)
        self._finish_text()
        text = f"You found {self.words[index]}."
        if len(self.found_words) == len(self.words):
            self.over = self.solved = True
            text += " That was the last word."
        return text, 1 / len(self.words), None

    def _suffix(self) -> str:
        return self._text

    def _format_help(self) -> str:
        return (
            "There is no action in your answer. Write it as \\boxed{R1 C1 R2 C2} with the row and the column of the "
            "first and of the last letter. The episode ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        size = self.size
        remaining_words = [word for index, word in enumerate(self.words) if index not in self.found_words] or self.words
        word_span = len(choice(rng, remaining_words)) - 1
        line, position = randbelow(rng, size), randbelow(rng, size - word_span)
        if randbelow(rng, 2):
            return f"\\boxed{{{line} {position} {line} {position + word_span}}}"
        return f"\\boxed{{{position} {line} {position + word_span} {line}}}"

    def _get_own_state(self) -> State:
        return {
            "size": self.size,
            "board": self.board,
            "words": list(self.words),
            "ends": [list(ends) for ends in self._words_by_ends],
            "found": list(self.found_words),
        }

    def _set_own_state(self, state: State) -> None:
        self.size, self.board = state["size"], state["board"]
        self.words = list(state["words"])
        ends = [(first_cell, last_cell) for first_cell, last_cell in state["ends"]]
        self._words_by_ends = {pair: index for index, pair in enumerate(ends)}
        self.found_words = {index: ends[index] for index in state["found"]}
        self._write_text()

    def view(self, seat: int = 0) -> GridView:
        """The letters; the player chooses the first and then the last letter of a word."""
        self._require_reset()
        size = self.size
        found_cells: set[int] = set()
        latest_cells: set[int] = set()
        for first_cell, last_cell in self.found_words.values():
            latest_cells = set(cells_between(first_cell, last_cell, size))
            found_cells |= latest_cells
        cells = [self._cell(cell, cell in found_cells, cell in latest_cells) for cell in range(len(self.board))]
        remaining_words = [word for index, word in enumerate(self.words) if index not in self.found_words]
        view = GridView(
            kind="grid",
            name=f"Word search, {size} rows, {size} columns",
            rows=[cells[i : i + size] for i in range(0, len(cells), size)],
            coords=True,
            size="s",
            facts=[("Words left", str(len(remaining_words)))],
            notes=[("To find", remaining_words), ("Found", [self.words[index] for index in self.found_words])],
            legend=[("click", "first letter, then last letter"), ("arrow keys", "move"), ("Enter", "choose")],
        )
        if not self.over:
            view["compose"] = Compose(
                picks=["place", "place"],
                prompts=["Choose the first letter of a word", "Choose its last letter"],
                before="\\boxed{",
                between=" ",
                after="}",
            )
        return view

    def _cell(self, index: int, is_found: bool, is_latest: bool) -> Cell:
        row, column = divmod(index, self.size)
        letter = self.board[index]
        cell = Cell(tone="found" if is_found else "open", label=f"Row {row}, column {column}: {letter}", text=letter)
        if is_found:
            cell["label"] += ", in a word that is found"
        if is_latest:
            cell["last"] = True
        if not self.over:
            cell["part"] = f"{row} {column}"
        return cell


def cells_between(first_cell: int, last_cell: int, size: int) -> range:
    """The cells from the first one to the last one, which are in the same row or column."""
    return range(first_cell, last_cell + 1, 1 if first_cell // size == last_cell // size else size)


def _count_occurrences(board: str, size: int, word: str) -> int:
    """How often the word can be read along the rows and columns, in either direction."""
    rows = " ".join(board[i : i + size] for i in range(0, len(board), size))
    columns = " ".join(board[i::size] for i in range(size))
    readings = {word, word[::-1]}
    return sum(lines.count(reading) for lines in (rows, columns) for reading in readings)


register("game:WordSearch-v0", WordSearch, cost="fast")
register("game:WordSearch-v0-easy", WordSearch, cost="fast", num_words=5, max_turns=20, hardcore=False)
register("game:WordSearch-v0-hard", WordSearch, cost="fast", num_words=5, max_turns=20, hardcore=True)
register("game:WordSearch-v0-random", WordSearch, cost="fast", num_words=None, max_turns=None, hardcore=None)
