"""What a template draws from: numbers, people and things. `Draw` gives the same for the same keys, everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from gem.rng import SplitMix64, choice, randint, sample

T = TypeVar("T")
PEOPLE = (
    "Aisha", "Amir", "Bela", "Carla", "Chen", "Dara", "Elif", "Emeka", "Farid", "Greta", "Hana", "Igor", "Ines",
    "Jonas", "Kofi", "Lena", "Luis", "Mara", "Mei", "Milan", "Nadia", "Noor", "Olga", "Omar", "Petra", "Priya", "Ravi",
    "Rosa", "Samir", "Sofia", "Tariq", "Tomas", "Uma", "Vera", "Wanda", "Yara", "Yusuf", "Zoe",
)  # fmt: skip
THINGS = (
    "apples", "badges", "beads", "buttons", "cards", "coins", "marbles", "nuts", "pencils", "pins", "postcards",
    "shells", "stamps", "stickers",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Draw:
    """Draws the names and numbers of one problem."""

    def __init__(self, *keys: int) -> None:
        self._rng = SplitMix64(*keys)

    def number(self, low: int, high: int, step: int = 1) -> int:
        """A number from `low` to `high` in steps, both included."""
        return low + step * randint(self._rng, 0, (high - low) // step)

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return choice(self._rng, items)

    def two(self, low: int, high: int) -> tuple[int, int]:
        """Two different numbers, the smaller one first."""
        first, second = sorted(sample(self._rng, range(low, high + 1), 2))
        return first, second

    def people(self, count: int) -> list[str]:
        """Different people."""
        return sample(self._rng, PEOPLE, count)

    def person(self) -> str:
        """One person."""
        return choice(self._rng, PEOPLE)

    def things(self) -> str:
        """Things that can be counted, in the plural."""
        return choice(self._rng, THINGS)


Problem = tuple[str, int | Fraction]
"""The text of a problem, and its answer."""
Template = Callable[[Draw], Problem]
