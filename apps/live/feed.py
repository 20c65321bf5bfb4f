"""A feed: the events of one row for one audience, rendered once and sent to any number of sockets.

A step brings a page from `start` to `seq`. The feed keeps the last steps by their start. So a socket needs no queue of
its own, only the seq that its page has reached: it takes the step that starts there. If there is no such step, because
the socket has just joined, was disconnected or is too slow, the feed reads from this seq on. So joining, reconnecting
and live updates use the same code.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import NamedTuple

from django.db import Error as DatabaseError

from apps.live.topics import Event

logger = logging.getLogger(__name__)

MAX_STEPS = 32
"""Steps that a feed keeps. For sockets that are further behind, events are read from Postgres."""
MAX_CHARACTERS = 1_000_000
"""Characters of all steps that a feed keeps."""
RETRY_SECONDS = 0.25
MAX_RETRY_SECONDS = 5.0

BROKEN = 1011
"""The close code after an error of the server; pages reconnect after a while."""

Read = Callable[[int], Awaitable[list[Event]]]
"""A function that reads the events after a seq, oldest first."""


class Step(NamedTuple):
    """A message that brings a page from `start` to `seq`."""

    start: int
    seq: int
    text: str


class Closed(Exception):
    """The listener was closed; `code` is the close code for the socket."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Listener:
    """The position of one socket in a feed."""

    __slots__ = ("_backlog", "_code", "_notice", "_wake", "feed", "idle", "seq", "session_key")

    def __init__(self, feed: Feed, seq: int, session_key: str = "") -> None:
        self.feed = feed
        self.seq = seq
        """The seq that the page has reached; raised with every message."""
        self.session_key = session_key
        self.idle = False
        """Whether it has sent everything and waits for something new."""
        self._wake = asyncio.Event()
        self._notice: str | None = None
        self._code: int | None = None
        self._backlog: Iterator[Step] = iter(())

    async def next(self) -> str:
        """Wait for the next message and return its text.

        Raises:
            Closed: if the socket has to be closed.
        """
        while True:
            self._wake.clear()
            if self._code is not None:
                raise Closed(self._code)
            if self._notice is not None:
                notice, self._notice = self._notice, None
                return notice
            step = next(self._backlog, None) or self.feed.step_from(self.seq)
            if step is not None:
                self.seq = step.seq
                return step.text
            self.feed.want(self.seq)
            self.idle = True
            await self._wake.wait()
            self.idle = False

    def wake(self) -> None:
        """Make `next` check again for a message."""
        self._wake.set()

    def notice(self, text: str) -> None:
        """Send `text` once, outside the order of events. A newer notice replaces one that was not sent yet."""
        self._notice = text
        self._wake.set()

    def close(self, code: int) -> None:
        """Close the socket with this code."""
        self._code = code
        self._wake.set()

    def catch_up(self, steps: list[Step]) -> None:
        """Send `steps`, which begin at its seq, before any other event. The list is shared."""
        self._backlog = iter(steps)


class Feed:
    """The steps of one row for one audience, and its listeners. At most one read runs at any time."""

    def __init__(self, row: str, audience: str, read: Read) -> None:
        self.row = row
        """The topic key of the row, such as `episode:7kq2...`."""
        self.name = f"{row} for {audience}"
        self.listeners: set[Listener] = set()
        self.known = -1
        """The highest seq that the row is known to have reached."""
        self.reads = 0
        self._read = read
        self._steps: dict[int, Step] = {}
        self._characters = 0
        self._requested: set[int] = set()
        self._reader: asyncio.Task[None] | None = None

    def join(self, seq: int, session_key: str = "") -> Listener:
        """Add a listener whose page has reached `seq`."""
        listener = Listener(self, seq, session_key)
        self.listeners.add(listener)
        if seq != self.known and seq not in self._steps:
            self._request(seq)
        return listener

    def leave(self, listener: Listener) -> None:
        """Remove the listener. Without listeners, nothing more is read."""
        self.listeners.discard(listener)
        if not self.listeners:
            self._requested.clear()

    def hear(self, seq: int) -> None:
        """Handle a hint that the row has reached `seq`: read the new events for the waiting listeners."""
        self.known = max(self.known, seq)
        for start in {listener.seq for listener in self.listeners if listener.idle}:
            self.want(start)

    def want(self, seq: int) -> None:
        """Request the events after `seq`, if the row is known to have more."""
        if seq < self.known and seq not in self._steps:
            self._request(seq)

    def step_from(self, seq: int) -> Step | None:
        """The step that starts at `seq`, if the feed has it."""
        return self._steps.get(seq)

    def notify(self, text: str) -> None:
        """Send `text` to all listeners, outside the order of events."""
        for listener in self.listeners:
            listener.notice(text)

    def close(self, code: int) -> None:
        """Close all listeners."""
        for listener in self.listeners:
            listener.close(code)

    def _request(self, seq: int) -> None:
        self._requested.add(seq)
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_all(), name=f"read {self.name}")

    async def _read_all(self) -> None:
        """Read until no request is left. If the database does not answer, retry with increasing delays."""
        delay = RETRY_SECONDS
        while self._requested:
            after = min(self._requested)
            known = self.known
            try:
                events = await self._read(after)
            except DatabaseError as error:
                logger.warning("%s cannot be read, trying again: %s", self.name, error)
                await asyncio.sleep(delay * random.uniform(0.5, 1.5))
                delay = min(delay * 2, MAX_RETRY_SECONDS)
                continue
            except Exception:  # an error of a topic must not leave its listeners waiting
                logger.exception("%s cannot be shown", self.name)
                self._requested.clear()
                self.close(BROKEN)
                return
            delay = RETRY_SECONDS
            self.reads += 1
            self._requested.discard(after)
            self._take(after, events, known)

    def _take(self, after: int, events: list[Event], known: int) -> None:
        """Store the events read after `after`, and wake the listeners. `known` is `self.known` before the read."""
        steps = _chain(after, events)
        if steps:
            self.known = max(self.known, steps[-1].seq)
        elif after < self.known == known:
            self.known = after  # a hint had named a seq that the row does not have
        self._keep(steps[-MAX_STEPS:])
        self._requested -= self._steps.keys()
        for listener in self.listeners:
            if listener.idle:
                if listener.seq == after:
                    listener.catch_up(steps)  # old steps may not be kept, and it must not request them again and again
                listener.wake()

    def _keep(self, steps: list[Step]) -> None:
        for step in steps:
            replaced = self._steps.pop(step.start, None)
            self._characters += len(step.text) - (len(replaced.text) if replaced else 0)
            self._steps[step.start] = step
        while len(self._steps) > MAX_STEPS or (self._characters > MAX_CHARACTERS and len(self._steps) > 1):
            oldest = self._steps.pop(min(self._steps))
            self._characters -= len(oldest.text)


def _chain(after: int, events: list[Event]) -> list[Step]:
    """Consecutive steps, without events that repeat a seq."""
    steps: list[Step] = []
    start = after
    for event in events:
        if event.seq > start:
            steps.append(Step(start, event.seq, f"<!--seq {event.seq}-->{event.html}"))
            start = event.seq
    return steps
