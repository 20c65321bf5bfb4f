"""How many sessions there are at a time. Whoever finds all slots taken waits in a queue."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass


class Full(Exception):
    """No slot became free in time."""


@dataclass(slots=True, eq=False)
class Slot:
    """The right to one session; `release` may be called twice."""

    slots: Slots
    person: str
    is_held: bool = True

    def release(self) -> None:
        """Give the slot to the next in the queue."""
        if self.is_held:
            self.is_held = False
            self.slots.give_back(self.person)


@dataclass(slots=True, eq=False)
class _Waiter:
    person: str
    limit: int
    granted: asyncio.Future[Slot]


class Slots:
    """Slots for sessions, of which each person may have some. They are given in the order of the queue.

    A person who has as many as one may have waits for one of their own, and others go ahead.

    Args:
        total: all slots of this process.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self._held: Counter[str] = Counter()
        self._queue: deque[_Waiter] = deque()

    @property
    def held(self) -> int:
        """How many slots are taken."""
        return self._held.total()

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return len(self._queue)

    async def take(self, person: str, limit: int, seconds: float) -> Slot:
        """Take a slot, after those who wait already.

        Args:
            limit: how many this person may have.
            seconds: how long to wait at most.

        Raises:
            Full: if there was none in that time.
        """
        waiter = _Waiter(person, limit, asyncio.get_running_loop().create_future())
        self._queue.append(waiter)
        self._grant()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(waiter.granted)
        except TimeoutError as error:
            self._leave(waiter)
            raise Full from error
        except asyncio.CancelledError:
            self._leave(waiter)
            raise

    def give_back(self, person: str) -> None:
        """Count one slot of a person as free; called by `Slot.release`."""
        self._held[person] -= 1
        if not self._held[person]:
            del self._held[person]
        self._grant()

    def _leave(self, waiter: _Waiter) -> None:
        """Leave the queue, or give back the slot that was granted at the same moment."""
        if waiter.granted.done() and not waiter.granted.cancelled():
            waiter.granted.result().release()
            return
        waiter.granted.cancel()
        self._queue.remove(waiter)

    def _grant(self) -> None:
        """Give the free slots to the first in the queue who may have one."""
        blocked: deque[_Waiter] = deque()
        while self._queue and self.held < self.total:
            waiter = self._queue.popleft()
            if self._held[waiter.person] >= waiter.limit:
                blocked.append(waiter)
                continue
            self._held[waiter.person] += 1
            waiter.granted.set_result(Slot(self, waiter.person))
        self._queue.extendleft(reversed(blocked))
