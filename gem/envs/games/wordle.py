r"""Find a secret word from the colours of the letters guessed.

Rules:
    The secret is a common English word of `word_length` letters. Any letters may be guessed, whether they are a word
    or not. Each letter of a guess is marked G (green: right place), Y (yellow: in the word, another place) or X (not
    in the word, or not once more). Guesses of another length or made before use up a turn and tell nothing.

Actions:
    `\boxed{word}`, for example `\boxed{plant}`; upper and lower case and spaces between the letters do not matter.

Rewards:
    0.5 / `word_length` for each place that is green for the first time, and 0.5 more for the word: 1 in all. 0 for
    any other guess. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Wordle-v0`. Words: see gem/data/words/README.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.data import words
from gem.envs.game import Game, Played
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
SHOWN_ROWS = 6
"""The board shows at least so many rows, and never more than one that is empty after that."""


@dataclass(frozen=True, slots=True)
class Config:
    """None draws the value anew for each episode, as the `random` difficulty does."""

    word_length: int | None
    max_turns: int | None


class Wordle(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{([a-zA-Z]+(?:\s+[a-zA-Z]+)*)}")
    prompt = "Enter your guess."

    def __init__(self, word_length: int | None = 3, max_turns: int | None = 15, seed: int | None = None) -> None:
        super().__init__(seed)
        if word_length is not None and not words.SHORTEST <= word_length <= words.LONGEST_COMMON:
            raise InvalidArgument(
                f"word_length must be from {words.SHORTEST} to {words.LONGEST_COMMON}, not {word_length}."
            )
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(word_length, max_turns)
        self.data_hash = words.COMMON_HASH
        self.word_length = 0
        self.secret = ""
        self.guesses: dict[str, str] = {}
        """The guesses that counted, in order, in upper case, with their marks."""
        self.found: list[bool] = []
        """The places that have been green."""

    def _draw(self) -> None:
        length = randint(self.rng, 3, 5) if self.config.word_length is None else self.config.word_length
        self.word_length = length
        self.max_turns = 5 * length if self.config.max_turns is None else self.config.max_turns
        self.secret = choice(self.rng, words.common(length)).upper()
        self.guesses = {}
        self.found = [False] * length

    def _instructions(self) -> str:
        return (
            f"I have a secret English word of {self.word_length} letters. Find it in at most {self.max_turns} guesses. "
            "I mark each letter of a guess: G (green) if it is in its right place, Y (yellow) if the word has it in "
            "another place, X if the word does not have it (or not once more).\n"
            f"Put your guess into \\boxed{{}}, for example \\boxed{{{words.common(self.word_length)[0]}}}."
        )

    def _play(self, match: str) -> Played:
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
                if not self.found[place]:
                    self.found[place] = True
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
            "found": list(self.found),
        }

    def _set_own_state(self, state: State) -> None:
        self.word_length, self.secret = state["word_length"], state["secret"]
        self.guesses = {guess: mark(guess, self.secret) for guess in state["guesses"]}
        self.found = list(state["found"])

    def view(self, seat: int = 0) -> LettersView:
        """The guesses in their colours, the rows for the next ones, and the keys with what is known of each."""
        rows = [_row(guess, marks) for guess, marks in self.guesses.items()]
        if rows:
            for cell in rows[-1]["cells"]:
                cell["last"] = True
        for index in range(len(rows), min(max(SHOWN_ROWS, len(rows) + (not self.over)), self.max_turns)):
            cells = [Cell(tone="blank", label=f"Letter {place}: empty") for place in range(1, self.word_length + 1)]
            rows.append(LetterRow(cells=cells, label="An empty row"))
            if index == len(self.guesses) and not self.over:
                rows[-1]["label"], rows[-1]["draft"] = "Your next guess", True
        view = LettersView(
            kind="letters",
            name=f"Wordle, {self.word_length} letters",
            rows=rows,
            keys=draw_keyboard(self._known(), TONES, playable=not self.over),
            facts=[("Places found", f"{sum(self.found)} of {self.word_length}")],
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

    def _known(self) -> dict[str, str]:
        """The best mark that each letter has got."""
        known: dict[str, str] = {}
        for guess, marks in self.guesses.items():
            for letter, got in zip(guess, marks, strict=True):
                known[letter] = min(known.get(letter, GREY), got, key="GYX".index)
        return known


def mark(guess: str, secret: str) -> str:
    """G, Y or X for each letter of the guess. A letter of the secret answers one letter of the guess, greens first."""
    marks = ""
    for asked, letter in zip(guess, secret):  # noqa: B905 (equally long; asking for it costs 0.1 µs at every turn)
        if asked == letter:
            marks += GREEN
        elif asked in secret:
            marks += YELLOW
        else:
            marks += GREY
    if YELLOW in marks and len(set(guess)) < len(guess):  # the only way to ask for a letter too often
        return _mark_counting(guess, secret)
    return marks


def _mark_counting(guess: str, secret: str) -> str:
    left = [letter for letter, asked in zip(secret, guess, strict=True) if letter != asked]
    marks = ""
    for asked, letter in zip(guess, secret, strict=True):
        if asked == letter:
            marks += GREEN
        elif asked in left:
            left.remove(asked)
            marks += YELLOW
        else:
            marks += GREY
    return marks


def _row(guess: str, marks: str) -> LetterRow:
    cells = []
    for letter, got in zip(guess, marks, strict=True):
        tone, words_for_it = TONES[got]
        cells.append(Cell(tone=tone, label=f"{letter}, {words_for_it}", text=letter))
    return LetterRow(cells=cells, label=f"{guess}: {'; '.join(cell['label'] for cell in cells)}")


register("game:Wordle-v0", Wordle)
register("game:Wordle-v0-easy", Wordle, word_length=3, max_turns=15)
register("game:Wordle-v0-hard", Wordle, word_length=5, max_turns=25)
register("game:Wordle-v0-random", Wordle, word_length=None, max_turns=None)
