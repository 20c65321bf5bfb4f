"""Which connections of this process have something to do: hints over Valkey, read once for all of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from apps.live.publisher import channel_of
from apps.live.subscriber import listen
from apps.remote.asking import CONNECTIONS


class Hints:
    """The hints of one event loop. Without Valkey, connections look again by themselves."""

    def __init__(self) -> None:
        self._waiting: defaultdict[int, set[asyncio.Event]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None

    @contextmanager
    def about(self, agent_id: int) -> Iterator[asyncio.Event]:
        """An event that is set when there may be something new about an agent, while the block lasts."""
        event = asyncio.Event()
        self._waiting[agent_id].add(event)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._listen())
        try:
            yield event
        finally:
            self._waiting[agent_id].discard(event)
            if not self._waiting[agent_id]:
                del self._waiting[agent_id]
            if not self._waiting:
                self._task.cancel()

    async def _listen(self) -> None:
        await listen(channel_of(CONNECTIONS), self._hear, self._catch_up)

    def _hear(self, message: str) -> None:
        if message.isdecimal():
            for event in self._waiting.get(int(message), ()):
                event.set()

    async def _catch_up(self) -> None:
        for events in self._waiting.values():
            for event in events:
                event.set()


_HINTS: WeakKeyDictionary[asyncio.AbstractEventLoop, Hints] = WeakKeyDictionary()


def hints() -> Hints:
    """Those of the running event loop."""
    return _HINTS.setdefault(asyncio.get_running_loop(), Hints())
