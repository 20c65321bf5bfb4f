r"""Find a secret number from the answers "higher" and "lower".

Rules:
    The secret is drawn uniformly from `min_number` to `max_number`, both included. After each guess you learn whether
    the secret is higher or lower. A number outside the range or a repeated guess uses up a turn and tells you nothing.

Actions:
    `\boxed{N}` with a whole number, for example `\boxed{17}`.

Rewards:
    1 for the secret, 0 for any other guess. If the turn limit ends the episode, the last guess earns
    1 - |guess - secret| / (max_number - min_number) if it is in the range. -0.1 for an action that cannot be parsed,
    which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:GuessTheNumber-v0`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, randint
from gem.views import Cell, GridView

COLUMNS = 10
MAX_DIGITS = 18
"""A number with more digits is out of every range, and is not parsed: Python refuses numbers of thousands of digits."""


@dataclass(frozen=True, slots=True)
class Config:
    """A value that is None is drawn for each episode, as in the `random` difficulty."""

    min_number: int | None
    max_number: int | None
    max_turns: int | None


class GuessTheNumber(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{(\d+)}")
    prompt = "Enter your guess."

    def __init__(
        self,
        min_number: int | None = 1,
        max_number: int | None = 20,
        max_turns: int | None = 20,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if min_number is not None and max_number is not None and not 0 <= min_number < max_number:
            raise InvalidArgument(f"min_number must be from 0 to below max_number, not {min_number} and {max_number}.")
        if min_number is not None and min_number < 0:
            raise InvalidArgument(f"min_number must be at least 0, not {min_number}: a guess has no sign.")
        if min_number is None and max_number is not None and max_number < 2:
            raise InvalidArgument(f"max_number must be at least 2 if min_number is drawn, not {max_number}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(min_number, max_number, max_turns)
        self.max_turns = max_turns or 0
        self.min_number = self.max_number = self.secret = 0
        self.guesses: list[int] = []

    def _draw(self) -> None:
        config = self.config
        low = randint(self.rng, 1, 10) if config.min_number is None else config.min_number
        if config.max_number is not None:
            low = min(low, config.max_number - 1)
        high = randint(self.rng, low + 5, low + 50) if config.max_number is None else config.max_number
        self.min_number, self.max_number = low, high
        self.max_turns = math.ceil(math.sqrt(high - low)) + 1 if config.max_turns is None else config.max_turns
        self.secret = randint(self.rng, low, high)
        self.guesses = []

    def _instructions(self) -> str:
        return (
            f"I have a secret number from {self.min_number} to {self.max_number}, both included. Find it in at most "
            f"{self.max_turns} guesses. After each guess I say whether the secret is higher or lower.\n"
            "Put your guess into \\boxed{}, for example \\boxed{"
            f"{self.min_number}}}."
        )

    def _play(self, match: str) -> PlayResult:
        guess = int(match) if len(match) <= MAX_DIGITS else self.max_number + 1
        repeated = guess in self.guesses
        self.guesses.append(guess)
        if not self.min_number <= guess <= self.max_number:
            return (
                f"The secret is from {self.min_number} to {self.max_number}; your guess is outside.",
                0.0,
                "rule",
            )
        if repeated:
            return f"You have guessed {guess} before.", 0.0, "rule"
        if guess == self.secret:
            self.over = self.solved = True
            return f"{guess} is the secret.", 1.0, None
        return f"The secret is {'higher' if guess < self.secret else 'lower'} than {guess}.", 0.0, None

    def _reward_at_limit(self, reward: float) -> float:
        guess = self.guesses[-1]
        if not self.min_number <= guess <= self.max_number:
            return reward
        return 1 - abs(guess - self.secret) / (self.max_number - self.min_number)

    def _suffix(self) -> str:
        return self.prompt

    def _format_help(self) -> str:
        return "There is no guess in your answer. Write it as \\boxed{N} with a whole number. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{randint(rng, self.min_number, self.max_number)}}}"

    def _get_own_state(self) -> State:
        return {
            "min_number": self.min_number,
            "max_number": self.max_number,
            "secret": self.secret,
            "guesses": list(self.guesses),
        }

    def _set_own_state(self, state: State) -> None:
        self.min_number, self.max_number = state["min_number"], state["max_number"]
        self.secret = state["secret"]
        self.guesses = list(state["guesses"])

    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest number that the answers so far have not excluded."""
        low, high = self.min_number, self.max_number
        for guess in self.guesses:
            if low <= guess < self.secret:
                low = guess + 1
            elif self.secret < guess <= high:
                high = guess - 1
        return low, high

    def view(self, seat: int = 0) -> GridView:
        """The numbers of the range, marked as guessed, possible or excluded by the answers."""
        low, high = self.bounds()
        numbers = range(self.min_number, self.max_number + 1)
        cells = [self._cell(number, low, high) for number in numbers]
        cells += [Cell(tone="void", label="") for _ in range(-len(cells) % COLUMNS)]
        return GridView(
            kind="grid",
            name=f"The numbers {self.min_number} to {self.max_number}",
            rows=[cells[i : i + COLUMNS] for i in range(0, len(cells), COLUMNS)],
            facts=[("Still possible", f"{low} to {high}" if low < high else str(low))],
            legend=[("click", "guess"), ("arrow keys", "move"), ("Enter", "guess")],
        )

    def _cell(self, number: int, low: int, high: int) -> Cell:
        if self.solved and number == self.secret:
            cell = Cell(tone="hit", label=f"{number}: the secret")
        elif number in self.guesses:
            cell = Cell(tone="miss", label=f"{number}: guessed, too {'low' if number < self.secret else 'high'}")
        elif low <= number <= high:
            cell = Cell(tone="hidden", label=f"{number}: possible")
        else:
            cell = Cell(tone="blank", label=f"{number}: excluded")
        cell["text"] = str(number)
        if not self.over:
            cell["act"] = f"\\boxed{{{number}}}"
        if self.guesses and self.guesses[-1] == number:
            cell["last"] = True
        return cell


register("game:GuessTheNumber-v0", GuessTheNumber, cost="fast")
register("game:GuessTheNumber-v0-easy", GuessTheNumber, cost="fast", min_number=1, max_number=10, max_turns=4)
register("game:GuessTheNumber-v0-hard", GuessTheNumber, cost="fast", min_number=1, max_number=50, max_turns=7)
register("game:GuessTheNumber-v0-random", GuessTheNumber, cost="fast", min_number=None, max_number=None, max_turns=None)
