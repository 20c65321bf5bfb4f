"""A budget of turns: no turn begins before it is taken from the budget.

    with TurnBudget(MemoryTurns(10_000)) as turns:
        records = rollout(agent, requests, broken_off=turns.take)

Turns are drawn in blocks, so that several workers can share a store that takes some milliseconds (a database).
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Protocol, Self

from gem.errors import BudgetUsedUp

LARGEST_SHARE = 4
"""A block has at most this part of what is left, so that what one worker holds does not stop the others early."""
BLOCK_SECONDS = 0.5
"""A block that lasts less than this is followed by one of twice the size."""
FIRST_BLOCK, LARGEST_BLOCK = 16, 1 << 16


class TurnStore(Protocol):
    """Where the turns of all workers are counted."""

    @property
    def budget(self) -> int:
        """The most turns of all workers together."""
        ...

    def draw(self, wanted: int) -> int:
        """Count up to so many further turns; return how many. It is 0 once the budget is used up."""
        ...

    def give_back(self, number: int) -> None:
        """Count so many turns less, which were drawn and did not begin."""
        ...


def granted(left: int, wanted: int) -> int:
    """Return the size of a block if so many turns are left: at least 1 while there are some."""
    return max(0, min(wanted, max(1, left // LARGEST_SHARE), left))


@dataclass
class MemoryTurns:
    """A count of turns in the memory of this process."""

    budget: int
    drawn: int = 0

    def draw(self, wanted: int) -> int:
        """See `TurnStore.draw`."""
        number = granted(self.budget - self.drawn, wanted)
        self.drawn += number
        return number

    def give_back(self, number: int) -> None:
        """See `TurnStore.give_back`."""
        self.drawn -= number


class TurnBudget:
    """Takes turns from a budget. It is used in a `with` block, whose end gives back what was drawn and not taken.

    Args:
        store: where the turns are counted; None if there is no limit.
    """

    def __init__(self, store: TurnStore | None) -> None:
        self.refusal = ""
        """Why no further turn begins: the budget is used up. Empty while there may be some left."""
        self._store = store
        self._left = 0
        self._block = FIRST_BLOCK
        self._drawn_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        left, self._left = self._left, 0
        if self._store is not None and left:
            self._store.give_back(left)

    def take(self, episode: int) -> str:
        """Take a turn for this episode before it begins. Returns an empty string, as `rollout` wants of `broken_off`.

        Raises:
            BudgetUsedUp: if there is none left.
            Exception: what the store raises.
        """
        del episode
        if self._store is None:
            return ""
        if self._left == 0:
            self._left = 0 if self.refusal else self._draw(self._store)
        if self._left == 0:
            self.refusal = self.refusal or used_up(self._store.budget)
            raise BudgetUsedUp(self.refusal)
        self._left -= 1
        return ""

    def _draw(self, store: TurnStore) -> int:
        now = monotonic()
        if now - self._drawn_at < BLOCK_SECONDS:
            self._block = min(2 * self._block, LARGEST_BLOCK)
        self._drawn_at = now
        return store.draw(self._block)


def used_up(budget: int) -> str:
    """Return the sentence that says why no further turn begins."""
    return f"The budget of {budget:,} turns is used up."
