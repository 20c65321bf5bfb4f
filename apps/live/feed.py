"""A feed: the events of one row for one audience, rendered once and sent to any number of sockets and streams.

A step brings a reader, a page or a program, from `start` to `seq`. The feed keeps the last steps by their start. So a
socket needs no queue of its own, only the seq that its reader has reached: it takes the step that starts there. If
there is no such step, because the socket has just joined, was disconnected or is too slow, the feed reads from this seq
on. So joining, reconnecting and live updates use the same code.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from django.db import Error as DatabaseError

logger = logging.getLogger(__name__)

MAX_STEPS = 32
"""Steps that a feed keeps. For sockets that are further behind, events are read from Postgres."""
MAX_CHARACTERS = 1_000_000
"""Characters of all steps that a feed keeps."""
RETRY_SECONDS = 0.25
MAX_RETRY_SECONDS = 5.0

BROKEN = 1011
"""The close code after an error of the server; pages reconnect after a while."""

UNKNOWN = -2
"""Below every seq that a reader can have reached: one that has nothing has reached `BEGINNING`."""
BEGINNING = -1
OVER = 1000
"""The close code after the last event of a row that is over."""


class Message(NamedTuple):
    """A rendered event: what is sent to bring a reader to `seq`."""

    seq: int
    text: str
    name: str = ""
    """Of an event for programs, its name."""


class Reading(NamedTuple):
    """What was read after a seq: the messages, oldest first."""

    messages: Sequence[Message]
    upto: int
    """The seq up to which these are all messages. Those after it are read later, if the row has reached more."""
    top: int
    """The seq that the row has reached."""
    is_over: bool = False
    """Whether no event follows `top`, unless what is over goes on."""


Read = Callable[[int], Awaitable[Reading]]
"""A function that reads what happened after a seq."""


class Step(NamedTuple):
    """A message that brings a reader from `start` to `seq`. It is empty if nothing in between is shown."""

    start: int
    seq: int
    text: str
    name: str = ""


class Closed(Exception):
    """The listener was closed; `code` is the close code for the socket."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Listener:
    """The position of one socket in a feed."""

    __slots__ = ("_backlog", "_code", "_notice", "_wake", "credential", "feed", "idle", "seq")

    def __init__(self, feed: Feed, seq: int, credential: str = "") -> None:
        self.feed = feed
        self.seq = seq
        """The seq that the reader has reached; raised with every step."""
        self.credential = credential
        """By what the person is known: see `apps.live.session_user.person_of`."""
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
        return (await self.next_step()).text

    async def next_step(self) -> Step:
        """Wait for the next step that shows something; a notice is a step that goes nowhere.

        Raises:
            Closed: if the socket has to be closed, or the row is over and nothing follows.
        """
        while True:
            self._wake.clear()
            step = self.ready_step()
            if step is not None:
                return step
            if self.feed.is_over_at(self.seq):
                raise Closed(OVER)
            self.feed.want(self.seq)
            self.idle = True
            try:
                await self._wake.wait()
            finally:
                self.idle = False

    def ready_step(self) -> Step | None:
        """The next step that shows something, if it is here already.

        Raises:
            Closed: if the socket has to be closed.
        """
        if self._code is not None:
            raise Closed(self._code)
        if self._notice is not None:
            notice, self._notice = self._notice, None
            return Step(self.seq, self.seq, notice)
        while step := next(self._backlog, None) or self.feed.step_from(self.seq):
            self.seq = step.seq
            if step.text:
                return step
        return None

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

    def __init__(self, row: str, audience: str, read: Read, *, pace: float = 0.0) -> None:
        self.row = row
        """The topic key of the row, such as `episode:7kq2...`."""
        self.audience = audience
        self.name = f"{row} for {audience}"
        self.listeners: set[Listener] = set()
        self.known = UNKNOWN
        """The highest seq that the row is known to have reached."""
        self.end: int | None = None
        """The seq after which nothing follows, of a row that is over."""
        self.reads = 0
        self.pace = pace
        """The least seconds between two reads. What happens meanwhile is one step, if the events of the row fold."""
        self._read = read
        self._steps: dict[int, Step] = {}
        self._characters = 0
        self._outdated = False
        """Whether the row is known to have ended since the read that runs now began."""
        self._requested: set[int] = set()
        self._reader: asyncio.Task[None] | None = None

    def join(self, seq: int, credential: str = "", *, is_over: bool = False) -> Listener:
        """Add a listener whose reader has reached `seq`.

        Args:
            is_over: whether the row is known to be over, which the feed may not have heard yet.
        """
        if is_over and self.end is None:
            self._forget_steps()
            self._outdated = True
        listener = Listener(self, seq, credential)
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

    def is_over_at(self, seq: int) -> bool:
        """Whether the row is over and a reader at `seq` has everything."""
        return self.end is not None and seq >= max(self.end, self.known)

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
            self._outdated = False
            try:
                reading = await self._read(after)
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
            if self._outdated and not reading.is_over:
                continue  # it was read before the row ended, when parts of it were still hidden
            self._requested.discard(after)
            self._take(after, reading, known)
            await asyncio.sleep(self.pace)

    def _take(self, after: int, reading: Reading, known: int) -> None:
        """Store what was read after `after`, and wake the listeners. `known` is `self.known` before the read."""
        steps = _chain(after, reading)
        if reading.is_over and self.end is None:
            self._forget_steps()  # the end reveals what earlier steps had to hide, so they are read anew
        self.end = reading.top if reading.is_over else None
        if reading.top > after:
            self.known = max(self.known, reading.top)
        elif after < self.known == known:
            self.known = after  # a hint had named a seq that the row does not have
        self._keep(steps[-MAX_STEPS:])
        self._requested -= self._steps.keys()
        for listener in self.listeners:
            if listener.idle:
                if listener.seq == after:
                    listener.catch_up(steps)  # old steps may not be kept, and it must not request them again and again
                listener.wake()

    def _forget_steps(self) -> None:
        self._steps.clear()
        self._characters = 0

    def _keep(self, steps: list[Step]) -> None:
        for step in steps:
            replaced = self._steps.pop(step.start, None)
            self._characters += len(step.text) - (len(replaced.text) if replaced else 0)
            self._steps[step.start] = step
        while len(self._steps) > MAX_STEPS or (self._characters > MAX_CHARACTERS and len(self._steps) > 1):
            oldest = self._steps.pop(min(self._steps))
            self._characters -= len(oldest.text)


def _chain(after: int, reading: Reading) -> list[Step]:
    """Consecutive steps up to `reading.upto`, without messages that repeat a seq."""
    steps: list[Step] = []
    start = after
    for message in reading.messages:
        if message.seq > start:
            steps.append(Step(start, message.seq, message.text, message.name))
            start = message.seq
    if reading.upto > start:
        steps.append(Step(start, reading.upto, ""))
    return steps
