"""A feed: what one audience of one watched row sees, rendered once and read by any number of sockets.

A step brings a page from `start` to `seq`. The last steps are kept by their start, so a socket needs no queue of
its own, only the seq that its page has reached: it takes the step that starts there. Whoever finds none, because
he has just joined, was away or was too slow, asks for a read at his own seq. Join, reconnect and live are one path.
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

STEPS_KEPT = 32
"""A socket further behind than this reads on from Postgres."""
CHARACTERS_KEPT = 1_000_000
RETRY_SECONDS = 0.25
RETRY_SECONDS_AT_MOST = 5.0

BROKEN = 1011
"""The close code after a fault of ours; pages come back after a while."""

Read = Callable[[int], Awaitable[list[Event]]]
"""The events after a seq, oldest first."""


class Step(NamedTuple):
    """What brings a page from `start` to `seq`, as the text of one message."""

    start: int
    seq: int
    text: str


class Closed(Exception):
    """The listener was told to go; `code` is the socket's close code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Listener:
    """One socket's place in a feed."""

    __slots__ = ("_backlog", "_code", "_notice", "_wake", "feed", "idle", "seq", "session_key")

    def __init__(self, feed: Feed, seq: int, session_key: str = "") -> None:
        self.feed = feed
        self.seq = seq
        """What the page has reached; raised when a message is handed out."""
        self.session_key = session_key
        self.idle = False
        """Waits for something new, so it is neither behind nor busy sending."""
        self._wake = asyncio.Event()
        self._notice: str | None = None
        self._code: int | None = None
        self._backlog: Iterator[Step] = iter(())

    async def next(self) -> str:
        """The text of the next message, as soon as there is one.

        Raises:
            Closed: when the socket has to go.
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
        """Look again whether there is something."""
        self._wake.set()

    def notice(self, text: str) -> None:
        """Send `text` once, outside the order of events; a newer notice replaces one that was not sent yet."""
        self._notice = text
        self._wake.set()

    def close(self, code: int) -> None:
        """End it with this close code."""
        self._code = code
        self._wake.set()

    def catch_up(self, steps: list[Step]) -> None:
        """Take `steps`, which begin where it is, before anything else. The list is shared."""
        self._backlog = iter(steps)


class Feed:
    """The steps of one row for one audience, and who listens. At most one read is under way at any time."""

    def __init__(self, row: str, audience: str, read: Read) -> None:
        self.row = row
        """The topic key of what is watched: `episode:7kq2...`."""
        self.name = f"{row} for {audience}"
        self.listeners: set[Listener] = set()
        self.known = -1
        """The highest seq that the row is known to have reached."""
        self.reads = 0
        self._read = read
        self._steps: dict[int, Step] = {}
        self._characters = 0
        self._wanted: set[int] = set()
        self._reader: asyncio.Task[None] | None = None

    def join(self, seq: int, session_key: str = "") -> Listener:
        """A listener whose page has reached `seq`."""
        listener = Listener(self, seq, session_key)
        self.listeners.add(listener)
        if seq != self.known and seq not in self._steps:
            self._ask(seq)
        return listener

    def leave(self, listener: Listener) -> None:
        """Forget the listener; after the last one nothing more is read."""
        self.listeners.discard(listener)
        if not self.listeners:
            self._wanted.clear()

    def hear(self, seq: int) -> None:
        """The row has reached `seq`: read what the waiting listeners lack."""
        self.known = max(self.known, seq)
        for start in {listener.seq for listener in self.listeners if listener.idle}:
            self.want(start)

    def want(self, seq: int) -> None:
        """Read from `seq` on if the row is known to be further."""
        if seq < self.known and seq not in self._steps:
            self._ask(seq)

    def step_from(self, seq: int) -> Step | None:
        """The step that starts at `seq`, if it is kept."""
        return self._steps.get(seq)

    def notify(self, text: str) -> None:
        """Send `text` to everybody, outside the order of events."""
        for listener in self.listeners:
            listener.notice(text)

    def close(self, code: int) -> None:
        """Send everybody away."""
        for listener in self.listeners:
            listener.close(code)

    def _ask(self, seq: int) -> None:
        self._wanted.add(seq)
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read_all(), name=f"read {self.name}")

    async def _read_all(self) -> None:
        """Read until nothing is wanted; a database that is away is asked again, ever more slowly."""
        delay = RETRY_SECONDS
        while self._wanted:
            after = min(self._wanted)
            known = self.known
            try:
                events = await self._read(after)
            except DatabaseError as error:
                logger.warning("%s cannot be read, trying again: %s", self.name, error)
                await asyncio.sleep(delay * random.uniform(0.5, 1.5))
                delay = min(delay * 2, RETRY_SECONDS_AT_MOST)
                continue
            except Exception:  # whatever a topic raises must not leave its listeners waiting for ever
                logger.exception("%s cannot be shown", self.name)
                self._wanted.clear()
                self.close(BROKEN)
                return
            delay = RETRY_SECONDS
            self.reads += 1
            self._wanted.discard(after)
            self._take(after, events, known)

    def _take(self, after: int, events: list[Event], known: int) -> None:
        """Keep what was read after `after`, when `known` was known, and hand it out."""
        steps = _chain(after, events)
        if steps:
            self.known = max(self.known, steps[-1].seq)
        elif after < self.known == known:
            self.known = after  # the row is not as far as a hint said
        self._keep(steps[-STEPS_KEPT:])
        self._wanted -= self._steps.keys()
        for listener in self.listeners:
            if listener.idle:
                if listener.seq == after:
                    listener.catch_up(steps)  # old steps may not be kept, and it must not ask for ever
                listener.wake()

    def _keep(self, steps: list[Step]) -> None:
        for step in steps:
            replaced = self._steps.pop(step.start, None)
            self._characters += len(step.text) - (len(replaced.text) if replaced else 0)
            self._steps[step.start] = step
        while len(self._steps) > STEPS_KEPT or (self._characters > CHARACTERS_KEPT and len(self._steps) > 1):
            oldest = self._steps.pop(min(self._steps))
            self._characters -= len(oldest.text)


def _chain(after: int, events: list[Event]) -> list[Step]:
    """Steps that follow on one another, whatever the events repeat."""
    steps: list[Step] = []
    start = after
    for event in events:
        if event.seq > start:
            steps.append(Step(start, event.seq, f"<!--seq {event.seq}-->{event.html}"))
            start = event.seq
    return steps
