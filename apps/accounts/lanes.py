"""Lanes: how many requests of a kind the web process answers at a time, and who is next.

Without them, each of a hundred slow requests gets a thread at once, and all pages together become slow. In a lane, the
others wait in the event loop, where waiting costs nothing, and IP addresses take turns. Pages that are only read have
a lane of their own, so that nobody waits for the forms of others, and forms do not wait for the hashing of passwords.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve, reverse

from apps.accounts.hashing import SLOTS
from apps.accounts.request_limits import EXEMPT
from apps.networks import network_of

READING, WRITING, HASHING = "reading", "writing", "hashing"
SIZES = {READING: 6, WRITING: 3, HASHING: SLOTS}
"""Requests that are answered at a time. Threads of one process share one interpreter, so more would only slow each."""

ViewT = TypeVar("ViewT", bound=Callable[..., Any])


class Lane:
    """Admits a number of requests at a time, of which one address can have half."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._most_of_one = max(1, size // 2)
        self._admitted: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """Requests of each address that wait; the address that is next comes first."""

    @asynccontextmanager
    async def place(self, address: str) -> AsyncIterator[None]:
        """Wait for a place in the lane, and keep it while the block lasts."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._forget(address, turn)
            else:
                self._leave(address)
            raise
        try:
            yield
        finally:
            self._leave(address)

    def _admit(self) -> None:
        """Give the free places to those who are next."""
        for address in list(self._waiting):
            if not self._free:
                return
            if self._admitted[address] >= self._most_of_one:
                continue
            turns = self._waiting[address]
            turn = turns.popleft()
            if not turn.done():  # one that was cancelled just now needs no place
                turn.set_result(None)
                self._free -= 1
                self._admitted[address] += 1
            if turns:
                self._waiting.move_to_end(address)
            else:
                del self._waiting[address]

    def _leave(self, address: str) -> None:
        self._free += 1
        self._admitted[address] -= 1
        if not self._admitted[address]:
            del self._admitted[address]
        self._admit()

    def _forget(self, address: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(address)
        if turns is not None and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[address]


def hashes_passwords(view: ViewT) -> ViewT:
    """Mark a view whose forms hash a password, which takes much longer than other forms."""
    view.lane = HASHING  # type: ignore[attr-defined]
    return view


def lane_of(request: HttpRequest) -> str:
    """The lane of a request; empty for static files and for monitors, which have to learn how the site is."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        is_free = request.path.startswith(settings.STATIC_URL) or request.path in map(reverse, EXEMPT)
        return "" if is_free else READING
    try:
        return getattr(resolve(request.path_info).func, "lane", WRITING)
    except Resolver404:
        return WRITING


class Lanes:
    """The lanes of a process."""

    def __init__(self) -> None:
        self._lanes = {name: Lane(size) for name, size in SIZES.items()}

    @asynccontextmanager
    async def place(self, request: HttpRequest) -> AsyncIterator[None]:
        """Wait for a place in the lane of this request, and keep it while the block lasts."""
        name = lane_of(request)
        if not name:
            yield
            return
        async with self._lanes[name].place(network_of(request.META.get("REMOTE_ADDR", ""))):
            yield
