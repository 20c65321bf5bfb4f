r"""Find a secret code of digits from black and white pegs.

Rules:
    The code has `code_length` digits from 1 to `num_numbers`, all different unless `duplicate_numbers` is set. A
    guess gets a black peg for each digit in its right place, and a white peg for each other digit that the code has
    in another place. A guess may repeat digits even if the code does not. A guess of another length, one with digits
    out of range, and one made before use up a turn and tell you nothing.

Actions:
    `\boxed{d d d d}` with spaces between the digits, for example `\boxed{1 2 3 4}`.

Rewards:
    For a guess with more black pegs than all guesses before it, the gain in black pegs divided by `code_length`: 1 in
    all for the code. 0 for any other guess. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:Mastermind-v0`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice, randint, sample
from gem.views import Cell, Compose, Key, LetterRow, LettersView, Peg

RANDOM_PARAMETERS = [(2, 4, 10), (4, 6, 20), (4, 8, 30)]
"""Code length, numbers and turn limit: what the `random` difficulty draws from."""
MAX_LENGTH, MAX_NUMBERS = 8, 20
MAX_GUESS_CHARS = 1000
"""A longer guess counts as out of range and is not parsed: Python refuses numbers of thousands of digits."""

Code = tuple[int, ...]
Pegs = tuple[int, int]
"""How many black and how many white pegs a guess gets."""


@dataclass(frozen=True, slots=True)
class Config:
    """If one of the first three is None, all three are drawn for each episode, as in the `random` difficulty."""

    code_length: int | None
    num_numbers: int | None
    max_turns: int | None
    duplicate_numbers: bool


class Mastermind(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(\d+(?:\s+\d+)*)}")
    prompt = "Enter your guess."

    def __init__(
        self,
        code_length: int | None = 2,
        num_numbers: int | None = 6,
        max_turns: int | None = 10,
        duplicate_numbers: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if code_length is not None and not 1 <= code_length <= MAX_LENGTH:
            raise InvalidArgument(f"code_length must be from 1 to {MAX_LENGTH}, not {code_length}.")
        min_numbers = 2 if duplicate_numbers else max(code_length or 4, 2)
        if num_numbers is not None and not min_numbers <= num_numbers <= MAX_NUMBERS:
            raise InvalidArgument(f"num_numbers must be from {min_numbers} to {MAX_NUMBERS}, not {num_numbers}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(code_length, num_numbers, max_turns, duplicate_numbers)
        self.max_turns = 0 if code_length is None or num_numbers is None else max_turns or 0
        self.duplicate_numbers = duplicate_numbers
        self.code_length = self.num_numbers = 0
        self.code: Code = ()
        self.guesses: dict[Code, Pegs] = {}
        """The valid guesses, in order, with their black and white pegs."""
        self.best = 0
        """The largest number of black pegs that a guess has got."""

    def _draw(self) -> None:
        config = self.config
        if config.code_length is None or config.num_numbers is None or config.max_turns is None:
            self.code_length, self.num_numbers, self.max_turns = choice(self.rng, RANDOM_PARAMETERS)
        else:
            self.code_length, self.num_numbers = config.code_length, config.num_numbers
            self.max_turns = config.max_turns
        numbers = range(1, self.num_numbers + 1)
        if self.duplicate_numbers:
            self.code = tuple(choice(self.rng, numbers) for _ in range(self.code_length))
        else:
            self.code = tuple(sample(self.rng, numbers, self.code_length))
        self.guesses = {}
        self.best = 0

    def _instructions(self) -> str:
        example = " ".join(str(number) for number in range(1, self.code_length + 1))
        return (
            f"I have a secret code of {self.code_length} digits from 1 to {self.num_numbers}. Its digits "
            f"{'may repeat' if self.duplicate_numbers else 'are all different'}. Find it in at most {self.max_turns} "
            "guesses.\nA guess gets one black peg for each digit in its right place, and one white peg for each other "
            "digit that the code has in another place.\n"
            f"Put your guess into \\boxed{{}} with spaces between the digits, for example \\boxed{{{example}}}."
        )

    def _play(self, match: str) -> PlayResult:
        if len(match) > MAX_GUESS_CHARS:
            return f"The digits go from 1 to {self.num_numbers}; your guess has others.", 0.0, "rule"
        guess, lowest, highest = _parse_digits(match)
        length = self.code_length
        if len(guess) != length:
            return f"The code has {length} digits; your guess has {len(guess)}.", 0.0, "rule"
        if lowest < 1 or highest > self.num_numbers:
            return f"The digits go from 1 to {self.num_numbers}; your guess has others.", 0.0, "rule"
        if guess in self.guesses:
            return "You have made this guess before.", 0.0, "rule"
        black, white = self.guesses[guess] = count_pegs(guess, self.code)
        reward = 0.0
        if black > self.best:
            reward = (black - self.best) / length
            self.best = black
            if black == length:
                self.over = self.solved = True
                return f"{' '.join(map(str, guess))} is the code.", reward, None
        return f"Your guess gets {black} black and {white} white.", reward, None

    def _suffix(self) -> str:
        return self.prompt

    def _format_help(self) -> str:
        return (
            "There is no guess in your answer. Write it as \\boxed{d d d} with spaces between the digits. The episode "
            "ends."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        if self.duplicate_numbers:
            guess = [randint(rng, 1, self.num_numbers) for _ in range(self.code_length)]
        else:
            guess = sample(rng, range(1, self.num_numbers + 1), self.code_length)
        return f"\\boxed{{{' '.join(map(str, guess))}}}"

    def _get_own_state(self) -> State:
        return {
            "code_length": self.code_length,
            "num_numbers": self.num_numbers,
            "code": list(self.code),
            "guesses": [list(guess) for guess in self.guesses],
            "best": self.best,
        }

    def _set_own_state(self, state: State) -> None:
        self.code_length, self.num_numbers = state["code_length"], state["num_numbers"]
        self.code = tuple(state["code"])
        self.guesses = {tuple(guess): count_pegs(guess, self.code) for guess in state["guesses"]}
        self.best = state["best"]

    def view(self, seat: int = 0) -> LettersView:
        """The guesses with their pegs, a row for the next guess, and a key for each digit."""
        guesses = list(self.guesses.items())
        rows = [self._row(guess, pegs, is_last=i == len(guesses)) for i, (guess, pegs) in enumerate(guesses, start=1)]
        if not self.over:
            blank = [
                Cell(tone="blank", label=f"Place {position}: empty") for position in range(1, self.code_length + 1)
            ]
            rows.append(LetterRow(cells=blank, label="Your next guess", draft=True))
        view = LettersView(
            kind="letters",
            name=f"Mastermind, {self.code_length} digits from 1 to {self.num_numbers}",
            rows=rows,
            keys=[[self._key(number) for number in range(1, self.num_numbers + 1)]],
            facts=[("Most black pegs", f"{self.best} of {self.code_length}")],
            legend=[("black peg", "right place"), ("white peg", "other place"), ("1 2 3", "type"), ("Enter", "guess")],
        )
        if not self.over:
            prompts = [f"Choose digit {position}" for position in range(1, self.code_length + 1)]
            view["compose"] = Compose(
                picks=["key"] * self.code_length,
                prompts=prompts,
                before="\\boxed{",
                between=" ",
                after="}",
                confirm=True,
            )
        elif not self.solved:
            view["facts"] = [("The code", " ".join(map(str, self.code)))]
        return view

    def _row(self, guess: Code, pegs: Pegs, *, is_last: bool) -> LetterRow:
        is_code = pegs[0] == self.code_length
        cells = [Cell(tone="hit" if is_code else "tile", label=str(digit), text=str(digit)) for digit in guess]
        if is_last:
            for cell in cells:
                cell["last"] = True
        digits = " ".join(map(str, guess))
        row = LetterRow(cells=cells, label=f"{digits}: {pegs[0]} black, {pegs[1]} white")
        counts: list[tuple[Peg, int]] = [("black", pegs[0]), ("white", pegs[1]), ("none", self.code_length - sum(pegs))]
        row["pegs"] = [peg for peg, count in counts for _ in range(count)]
        return row

    def _key(self, number: int) -> Key:
        key = Key(text=str(number), label=str(number))
        if not self.over:
            key["part"] = str(number)
        return key


def count_pegs(guess: Sequence[int], code: Code) -> Pegs:
    """The number of digits in their right place, and of other digits that the code has in another place."""
    black = sum(map(operator.eq, guess, code))
    unmatched = [*code]
    for digit in guess:
        if digit in unmatched:
            unmatched.remove(digit)
    return black, len(code) - len(unmatched) - black


@lru_cache(maxsize=4096)  # 0.2 µs instead of 1.1 µs: agents make the same few thousand guesses again and again
def _parse_digits(text: str) -> tuple[Code, int, int]:
    """The digits of a guess, the lowest digit and the highest one."""
    guess = tuple(map(int, text.split()))
    return guess, min(guess), max(guess)


register("game:Mastermind-v0", Mastermind, cost="fast")
register(
    "game:Mastermind-v0-easy",
    Mastermind,
    cost="fast",
    code_length=2,
    num_numbers=6,
    max_turns=10,
    duplicate_numbers=False,
)
register(
    "game:Mastermind-v0-hard",
    Mastermind,
    cost="fast",
    code_length=4,
    num_numbers=8,
    max_turns=30,
    duplicate_numbers=False,
)
register(
    "game:Mastermind-v0-random",
    Mastermind,
    cost="fast",
    code_length=None,
    num_numbers=None,
    max_turns=None,
    duplicate_numbers=False,
)
