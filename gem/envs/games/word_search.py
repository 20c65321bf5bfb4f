r"""Find listed words among the letters of a square board.

Rules:
    `num_words` words are hidden on the board, each once, reading from left to right or from top to bottom; words may
    cross. All other letters are random. Mark a word by its first and last letter, in either order. Rows and columns
    count from 0. `hardcore` hides rarer and longer words.

Actions:
    `\boxed{R1 C1 R2 C2}` marks the letters from row R1, column C1 to row R2, column C2, for example
    `\boxed{0 3 0 7}`.

Rewards:
    1 / `num_words` for each word found: 1 in all. 0 for any other action, -0.1 for one that cannot be parsed, which
    ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:WordSearch-v0`; word lists as in `gem/data/words`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gem.core import State
from gem.data.words import COMMON_HASH, WORDS_HASH, all_words, common
from gem.envs.game import Game, Played
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randbelow
from gem.views import Cell, Compose, GridView

COMMON_LENGTHS = range(4, 11)
SHORTEST_HARD, LONGEST_HARD = 6, 12
MAX_WORDS = 12
ROOM = 1.5
"""The side of the board over the length of the longest word."""
TRIES = 100
"""Places tried for a word before the board is begun anew."""
MAX_DIGITS = 4
"""Longer numbers are off any board."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@cache
def lexicon(hard: bool) -> tuple[str, ...]:
    """The words to hide, in lower case."""
    if hard:
        return all_words(SHORTEST_HARD, LONGEST_HARD)
    return tuple(word for length in COMMON_LENGTHS for word in common(length))


@dataclass(frozen=True, slots=True)
class Config:
    """`hardcore` None draws the list for each episode; None for the others stands for 5 words and 20 turns."""

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
        self.data_hash = COMMON_HASH + WORDS_HASH if hardcore is None else WORDS_HASH if hardcore else COMMON_HASH
        self.size = 0
        self.board = ""
        """The letters row by row, in capitals."""
        self.words: list[str] = []
        """The words to find, in capitals and alphabetical order."""
        self.found: dict[int, tuple[int, int]] = {}
        """The words found, by place in the list, with their first and last cell, in the order of finding."""
        self._ends: dict[tuple[int, int], int] = {}
        """First and last cell of every word: the answers."""
        self._picture = bytearray()
        """The board as ASCII text, letters of found words small."""
        self._text = ""

    def _draw(self) -> None:
        config = self.config
        hard = randbelow(self.rng, 2) == 1 if config.hardcore is None else config.hardcore
        count = 5 if config.num_words is None else config.num_words
        self.max_turns = 20 if config.max_turns is None else config.max_turns
        while not self._hide(lexicon(hard), count):
            pass
        self.found = {}
        self._write_text()

    def _hide(self, words: tuple[str, ...], count: int) -> bool:
        """Draw words and lay them out; False if they do not fit or are found in more than one place."""
        rng = self.rng
        drawn = [choice(rng, words).upper() for _ in range(count)]
        size = int(max(map(len, drawn)) * ROOM)
        cells = [""] * size**2
        places: dict[str, tuple[int, int]] = {}
        for word in sorted(drawn, key=len, reverse=True):
            for _ in range(TRIES):
                step = choice(rng, (1, size))
                along, aside = randbelow(rng, size - len(word) + 1), randbelow(rng, size)
                first = aside * size + along if step == 1 else along * size + aside
                last = first + (len(word) - 1) * step
                if all(
                    cells[at] in ("", letter) for at, letter in zip(range(first, last + 1, step), word, strict=True)
                ):
                    break
            else:
                return False
            cells[first : last + 1 : step] = word
            places[word] = first, last
        board = "".join([letter or LETTERS[int(rng.random() * 26)] for letter in cells])
        if len(places) < count or any(_occurrences(board, size, word) != 1 for word in drawn):
            return False
        self.size, self.board, self.words = size, board, sorted(drawn)
        self._ends = {places[word]: index for index, word in enumerate(self.words)}
        return True

    def _write_text(self) -> None:
        size, letters = self.size, self.board
        lines = ["  " + "".join(f"{column:3}" for column in range(size))]
        lines += [f"{row:2}  {'  '.join(letters[row * size : row * size + size])}" for row in range(size)]
        self._picture = bytearray("\n".join(lines), "ascii")
        for first, last in self.found.values():
            self._write_small(first, last)
        self._finish_text()

    def _write_small(self, first: int, last: int) -> None:
        size, picture = self.size, self._picture
        width = 3 * size + 3  # of a line: four characters before the first letter, three a letter, the line's end
        for at in cells_between(first, last, size):
            row, column = divmod(at, size)
            picture[(row + 1) * width + 3 * column + 4] |= 0x20  # what small letters have more than capitals in ASCII

    def _finish_text(self) -> None:
        left = [word for index, word in enumerate(self.words) if index not in self.found]
        found = [self.words[index] for index in self.found]
        self._text = (
            f"{self._picture.decode()}\nTo find: {', '.join(left) or 'none'}. Found: {', '.join(found) or 'none'}.\n"
            f"{self.prompt}"
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

    def _play(self, match: tuple[str, str, str, str]) -> Played:
        size = self.size
        r1, c1, r2, c2 = [int(text) if len(text) <= MAX_DIGITS else size for text in match]
        if not (r1 < size and c1 < size and r2 < size and c2 < size):
            return f"Rows and columns go from 0 to {size - 1}.", 0.0, "rule"
        first, last = r1 * size + c1, r2 * size + c2
        if first > last:
            first, last = last, first
        index = self._ends.get((first, last))
        if index is None:
            if r1 != r2 and c1 != c2:
                return "Words run along a row or down a column, not across both.", 0.0, "rule"
            letters = self.board[first : last + 1 : 1 if r1 == r2 else size]
            return f"{letters} is not one of the words in its place.", 0.0, None
        if index in self.found:
            return f"You have found {self.words[index]} before.", 0.0, "rule"
        self.found[index] = first, last
        self._write_small(first, last)
        self._finish_text()
        text = f"You found {self.words[index]}."
        if len(self.found) == len(self.words):
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
        left = [word for index, word in enumerate(self.words) if index not in self.found] or self.words
        reach = len(choice(rng, left)) - 1
        aside, along = randbelow(rng, size), randbelow(rng, size - reach)
        if randbelow(rng, 2):
            return f"\\boxed{{{aside} {along} {aside} {along + reach}}}"
        return f"\\boxed{{{along} {aside} {along + reach} {aside}}}"

    def _get_own_state(self) -> State:
        return {
            "size": self.size,
            "board": self.board,
            "words": list(self.words),
            "ends": [list(ends) for ends in self._ends],
            "found": list(self.found),
        }

    def _set_own_state(self, state: State) -> None:
        self.size, self.board = state["size"], state["board"]
        self.words = list(state["words"])
        ends = [(first, last) for first, last in state["ends"]]
        self._ends = {pair: index for index, pair in enumerate(ends)}
        self.found = {index: ends[index] for index in state["found"]}
        self._write_text()

    def view(self, seat: int = 0) -> GridView:
        """The letters; choose the first and the last one of a word."""
        self._expect_begun()
        size = self.size
        found: set[int] = set()
        latest: set[int] = set()
        for first, last in self.found.values():
            latest = set(cells_between(first, last, size))
            found |= latest
        cells = [self._cell(at, at in found, at in latest) for at in range(len(self.board))]
        left = [word for index, word in enumerate(self.words) if index not in self.found]
        view = GridView(
            kind="grid",
            name=f"Word search, {size} rows, {size} columns",
            rows=[cells[i : i + size] for i in range(0, len(cells), size)],
            coords=True,
            size="s",
            facts=[("Words left", str(len(left)))],
            notes=[("To find", left), ("Found", [self.words[index] for index in self.found])],
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

    def _cell(self, index: int, found: bool, latest: bool) -> Cell:
        row, column = divmod(index, self.size)
        letter = self.board[index]
        cell = Cell(tone="found" if found else "open", label=f"Row {row}, column {column}: {letter}", text=letter)
        if found:
            cell["label"] += ", in a word that is found"
        if latest:
            cell["last"] = True
        if not self.over:
            cell["part"] = f"{row} {column}"
        return cell


def cells_between(first: int, last: int, size: int) -> range:
    """The cells from the first to the last one, in a row or in a column."""
    return range(first, last + 1, 1 if first // size == last // size else size)


def _occurrences(board: str, size: int, word: str) -> int:
    """In how many places the word reads along a row or a column, in any direction."""
    rows = " ".join(board[i : i + size] for i in range(0, len(board), size))
    columns = " ".join(board[i::size] for i in range(size))
    readings = {word, word[::-1]}
    return sum(lines.count(reading) for lines in (rows, columns) for reading in readings)


register("game:WordSearch-v0", WordSearch)
register("game:WordSearch-v0-easy", WordSearch, num_words=5, max_turns=20, hardcore=False)
register("game:WordSearch-v0-hard", WordSearch, num_words=5, max_turns=20, hardcore=True)
register("game:WordSearch-v0-random", WordSearch, num_words=None, max_turns=None, hardcore=None)
