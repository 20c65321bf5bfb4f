r"""Find a secret word from the colours of the letters guessed.

Rules:
    The secret is a common English word of `word_length` letters. A guess need not be a word. Each letter of a guess is
    marked G (green: right place), Y (yellow: the word has it in another place) or X (the word does not have it, or not
    once more). A guess of another length or one made before uses up a turn and tells you nothing.

Actions:
    `\boxed{word}`, for example `\boxed{plant}`; upper and lower case and spaces between the letters do not matter.

Rewards:
    0.5 / `word_length` for each place that is green for the first time, and 0.5 more for the word: 1 in all. 0 for any
    other guess. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Wordle-v0`. Words: see gem/data/words/README.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.data import words
from gem.envs.game import Game, PlayResult
from gem.envs.games.keyboard import draw_keyboard
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randint
from gem.views import Cell, Compose, LetterRow, LettersView, Tone

GREEN, YELLOW, GREY = "G", "Y", "X"
TONES: dict[str, tuple[Tone, str]] = {
    GREEN: ("hit", "right place"),
    YELLOW: ("near", "another place"),
    GREY: ("miss", "not in the word"),
}
MIN_ROWS = 6
"""The view has at least this many rows, unless the turn limit is lower; beyond them, only one row is empty."""


@dataclass(frozen=True, slots=True)
class Config:
    """A value that is None is drawn for each episode, as in the `random` difficulty."""

    word_length: int | None
    max_turns: int | None


class Wordle(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{([a-zA-Z]+(?:\s+[a-zA-Z]+)*)}")
    prompt = "Enter your guess."

    def __init__(self, word_length: int | None = 3, max_turns: int | None = 15, seed: int | None = None) -> None:
        super().__init__(seed)
        if word_length is not None and not words.MIN_LENGTH <= word_length <= words.MAX_COMMON_LENGTH:
            raise InvalidArgument(
                f"word_length must be from {words.MIN_LENGTH} to {words.MAX_COMMON_LENGTH}, not {word_length}."
            )
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(word_length, max_turns)
        self.max_turns = max_turns or 0
        self.data_hash = words.COMMON_HASH
        self.word_length = 0
        self.secret = ""
        self.guesses: dict[str, str] = {}
        """The valid guesses in upper case and in order, with their marks."""
        self.solved_places: list[bool] = []
        """For each place of the word, whether a guess has been green there."""

    def _draw(self) -> None:
        length = randint(self.rng, 3, 5) if self.config.word_length is None else self.config.word_length
        self.word_length = length
        self.max_turns = 5 * length if self.config.max_turns is None else self.config.max_turns
        self.secret = choice(self.rng, words.common(length)).upper()
        self.guesses = {}
        self.solved_places = [False] * length

    def _instructions(self) -> str:
        return (
            f"I have a secret English word of {self.word_length} letters. Find it in at most {self.max_turns} guesses. "
            "I mark each letter of a guess: G (green) if it is in its right place, Y (yellow) if the word has it in "
            "another place, X if the word does not have it (or not once more).\n"
            f"Put your guess into \\boxed{{}}, for example \\boxed{{{words.common(self.word_length)[0]}}}."
        )

    def _play(self, match: str) -> PlayResult:
        guess = match.upper().replace(" ", "")
        if len(guess) != self.word_length:
            return f"The word has {self.word_length} letters; your guess has {len(guess)}.", 0.0, "rule"
        if guess in self.guesses:
            return f"You have guessed {guess} before.", 0.0, "rule"
        marks = self.guesses[guess] = mark(guess, self.secret)
        reward = 0.0
        if GREEN in marks:
            share = 0.5 / self.word_length
            place = marks.find(GREEN)
            while place >= 0:
                if not self.solved_places[place]:
                    self.solved_places[place] = True
                    reward += share
                place = marks.find(GREEN, place + 1)
            if guess == self.secret:
                self.over = self.solved = True
                return f"{guess} is the word.", reward + 0.5, None
        return f"The marks of your guess:\n{guess}\n{marks}\n", reward, None

    def _suffix(self) -> str:
        return self.prompt

    def _format_help(self) -> str:
        return "There is no guess in your answer. Write it as \\boxed{word} with letters only. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, words.common(self.word_length)).upper()}}}"

    def _get_own_state(self) -> State:
        return {
            "word_length": self.word_length,
            "secret": self.secret,
            "guesses": list(self.guesses),
            "found": list(self.solved_places),
        }

    def _set_own_state(self, state: State) -> None:
        self.word_length, self.secret = state["word_length"], state["secret"]
        self.guesses = {guess: mark(guess, self.secret) for guess in state["guesses"]}
        self.solved_places = list(state["found"])

    def view(self, seat: int = 0) -> LettersView:
        """The guesses in their colours, empty rows, and a keyboard on which the guessed letters are marked."""
        rows = [_row(guess, marks) for guess, marks in self.guesses.items()]
        if rows:
            for cell in rows[-1]["cells"]:
                cell["last"] = True
        for index in range(len(rows), min(max(MIN_ROWS, len(rows) + (not self.over)), self.max_turns)):
            cells = [Cell(tone="blank", label=f"Letter {place}: empty") for place in range(1, self.word_length + 1)]
            rows.append(LetterRow(cells=cells, label="An empty row"))
            if index == len(self.guesses) and not self.over:
                rows[-1]["label"], rows[-1]["draft"] = "Your next guess", True
        view = LettersView(
            kind="letters",
            name=f"Wordle, {self.word_length} letters",
            rows=rows,
            keys=draw_keyboard(self._best_marks(), TONES, playable=not self.over),
            facts=[("Places found", f"{sum(self.solved_places)} of {self.word_length}")],
            legend=[("A to Z", "type"), ("Enter", "guess"), ("Backspace", "delete")],
        )
        if not self.over:
            view["compose"] = Compose(
                picks=["key"] * self.word_length,
                prompts=[f"Type letter {place}" for place in range(1, self.word_length + 1)],
                before="\\boxed{",
                between="",
                after="}",
                confirm=True,
            )
        elif not self.solved:
            view["facts"] = [("The word", self.secret)]
        return view

    def _best_marks(self) -> dict[str, str]:
        """For each guessed letter the best mark that it has got."""
        best_marks: dict[str, str] = {}
        for guess, marks in self.guesses.items():
            for letter, letter_mark in zip(guess, marks, strict=True):
                best_marks[letter] = min(best_marks.get(letter, GREY), letter_mark, key="GYX".index)
        return best_marks


def mark(guess: str, secret: str) -> str:
    """G, Y or X for each letter of the guess. A letter of the secret marks one letter of the guess, greens first."""
    marks = ""
    for guessed, letter in zip(guess, secret):  # noqa: B905 (both have the same length; checking costs 0.1 µs a turn)
        if guessed == letter:
            marks += GREEN
        elif guessed in secret:
            marks += YELLOW
        else:
            marks += GREY
    if YELLOW in marks and len(set(guess)) < len(guess):  # only then a letter may occur more often than in the secret
        return _mark_counting(guess, secret)
    return marks


def _mark_counting(guess: str, secret: str) -> str:
    unmatched = [letter for letter, guessed in zip(secret, guess, strict=True) if letter != guessed]
    marks = ""
    for guessed, letter in zip(guess, secret, strict=True):
        if guessed == letter:
            marks += GREEN
        elif guessed in unmatched:
            unmatched.remove(guessed)
            marks += YELLOW
        else:
            marks += GREY
    return marks


def _row(guess: str, marks: str) -> LetterRow:
    cells = []
    for letter, letter_mark in zip(guess, marks, strict=True):
        tone, description = TONES[letter_mark]
        cells.append(Cell(tone=tone, label=f"{letter}, {description}", text=letter))
    return LetterRow(cells=cells, label=f"{guess}: {'; '.join(cell['label'] for cell in cells)}")


register("game:Wordle-v0", Wordle, cost="fast")
register("game:Wordle-v0-easy", Wordle, cost="fast", word_length=3, max_turns=15)
register("game:Wordle-v0-hard", Wordle, cost="fast", word_length=5, max_turns=25)
register("game:Wordle-v0-random", Wordle, cost="fast", word_length=None, max_turns=None)
