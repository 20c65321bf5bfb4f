"""The hub of a web process connects hints from Valkey, rows in Postgres and sockets.

The hub has one subscription. A hint contains the seq that a row has reached. The feeds of this row then read the new
events and pass them to their listeners. The hub also rechecks the watched rows every few seconds, so a lost message or
a restart of Valkey or Postgres only causes a delay.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine

import redis
from django.db import Error as DatabaseError
from django.db import connection, transaction

from apps.live import presence
from apps.live.feed import Feed, Listener, Message, Reading
from apps.live.publisher import ACCESS, CHANNEL, PRESENCE, SESSION, fingerprint
from apps.live.session_user import SessionUser, person_of
from apps.live.streams import STREAMS
from apps.live.subscriber import listen
from apps.live.threads import in_thread
from apps.live.topics import PACES, TOPICS, Topic

logger = logging.getLogger(__name__)

RECHECK_SECONDS = 3.0
PERMISSION_SECONDS = 30.0
GATHER_SECONDS = 0.2
"""Seconds for which changes of the number of spectators are collected before they are published."""
RESTART_SECONDS = 3.0
PERMISSION_BATCH = 100
"""Permissions that are checked in one call."""

STREAM = "stream of "
"""Begins the audience of a feed of JSON events; the rest is the audience as the row's topic names it."""
CARD = "home"
"""The audience of an episode's card on another page."""
FORBIDDEN = 4403
GONE = 4404

Watch = tuple[str, str]
"""A row and an audience: `("episode:7kq2...", "watch")`."""


class Hub:
    """Feeds by row and audience, and the four tasks that keep them up to date."""

    def __init__(self) -> None:
        self.process = uuid.uuid4().hex
        self.feeds: dict[str, dict[str, Feed]] = {}
        """Feeds by topic key (`episode:7kq2...`) and audience."""
        self.sockets: Counter[str] = Counter()
        """Numbers of sockets and streams by person; `enter` enforces the limit."""
        self._reading: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Locks by topic key: audiences are read one after the other, so that a topic can reuse what it has read."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._spectators: dict[str, int] = {}
        self._changed: set[str] = set()
        self._count_again = asyncio.Event()

    # ------------------------------------------------------------------ sockets

    def enter(self, person: str, limit: int) -> bool:
        """Count one more socket or stream of this person. Returns False if they have as many as they may have."""
        if self.sockets[person] >= limit:
            return False
        self.sockets[person] += 1
        return True

    def exit(self, person: str) -> None:
        """Count one less."""
        self.sockets[person] -= 1
        if self.sockets[person] <= 0:
            del self.sockets[person]

    def join_stream(
        self, topic: str, key: str, audience: str, after: int, credential: str = "", *, is_over: bool = False
    ) -> Listener:
        """Add a listener that gets all events after `after` as JSON. The caller has checked its permission."""
        return self.join(topic, key, f"{STREAM}{audience}", after, credential, is_over=is_over)

    def join(
        self, topic: str, key: str, audience: str, after: int, credential: str = "", *, is_over: bool = False
    ) -> Listener:
        """Add a listener that gets all events after `after`. The caller has checked its permission."""
        if not self._tasks:
            self._start()
        topic_key = f"{topic}:{key}"
        audiences = self.feeds.setdefault(topic_key, {})
        if audience not in audiences:
            audiences[audience] = _feed(topic, key, audience, self._reading[topic_key])
        listener = audiences[audience].join(after, credential, is_over=is_over)
        if audience.startswith(STREAM):
            return listener
        if topic_key in self._spectators:
            listener.notice(presence.badge(self._spectators[topic_key]))
        self._presence_changed(topic_key)
        return listener

    def leave(self, listener: Listener) -> None:
        """Remove a listener. Its feed is kept until the next recheck, because a reloaded page comes back at once."""
        listener.feed.leave(listener)
        if not listener.feed.audience.startswith(STREAM):
            self._presence_changed(listener.feed.row)

    async def close(self) -> None:
        """Stop the tasks."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ------------------------------------------------------------------ hints

    def hear(self, message: str) -> None:
        """Handle one hint: `<kind>:<name> <seq>`."""
        topic_key, _, seq = message.rpartition(" ")
        kind, _, name = topic_key.partition(":")
        if kind == PRESENCE:
            if name in self.feeds:
                self._count_again.set()
        elif kind == SESSION:
            self._create_task(self._check_people(session=name))
        elif kind == ACCESS:
            self._create_task(self._check_people(row=name))
        elif seq.isdecimal():
            self._reached(topic_key, int(seq))

    def _reached(self, topic_key: str, seq: int) -> None:
        for feed in self.feeds.get(topic_key, {}).values():
            feed.hear(seq)

    async def _listen(self) -> None:
        await listen(CHANNEL, self.hear, self._recheck)

    # ------------------------------------------------------------------ rechecks

    async def _recheck_always(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            await self._recheck()

    async def _recheck(self) -> None:
        """Read the seq of every watched row from Postgres."""
        self._forget_unwatched()
        watched = list(self.feeds)
        try:
            reached = await in_thread(_current, watched)
        except DatabaseError as error:
            logger.warning("Watched rows cannot be rechecked: %s", error)
            return
        for topic_key, seq in reached.items():
            if seq is not None:
                self._reached(topic_key, seq)
                continue
            for feed in self.feeds.get(topic_key, {}).values():
                feed.close(GONE)

    def _forget_unwatched(self) -> None:
        for topic_key, audiences in list(self.feeds.items()):
            for audience in [name for name, feed in audiences.items() if not feed.listeners]:
                del audiences[audience]
            if not audiences:
                del self.feeds[topic_key]
                self._reading.pop(topic_key, None)
                self._spectators.pop(topic_key, None)

    async def _check_people_always(self) -> None:
        while True:
            await asyncio.sleep(PERMISSION_SECONDS)
            await self._check_people()

    async def _check_people(self, *, session: str = "", row: str = "") -> None:
        """Close the sockets of people who are no longer allowed to listen: of all, of one session, or to one row."""
        groups: defaultdict[tuple[str, str, str], list[Listener]] = defaultdict(list)
        for topic_key, audiences in self.feeds.items():
            if row and row != topic_key:
                continue
            for audience, feed in audiences.items():
                for listener in feed.listeners:
                    if not session or session == fingerprint(listener.credential):
                        groups[topic_key, audience, listener.credential].append(listener)
        subscriptions = list(groups)
        for start in range(0, len(groups), PERMISSION_BATCH):
            try:
                refused = await in_thread(_find_refused, subscriptions[start : start + PERMISSION_BATCH])
            except DatabaseError as error:
                logger.warning("Permissions cannot be rechecked, trying again later: %s", error)
                return
            for subscription in refused:
                for listener in groups[subscription]:
                    listener.close(FORBIDDEN)

    # ------------------------------------------------------------------ spectators

    def _presence_changed(self, topic_key: str) -> None:
        self._changed.add(topic_key)
        self._count_again.set()

    def _own_counts(self) -> dict[str, int]:
        """Numbers of spectators by topic key; people who play from a seat and programs do not count.

        Nor do the cards of episodes on other pages, which show many at once.
        """
        others = ("seat", STREAM)
        return {
            topic_key: sum(
                len(feed.listeners)
                for name, feed in audiences.items()
                if not name.startswith(others) and (name != CARD or not topic_key.startswith("episode:"))
            )
            for topic_key, audiences in self.feeds.items()
        }

    async def _count_always(self) -> None:
        while True:
            try:
                await asyncio.wait_for(self._count_again.wait(), presence.RENEW_SECONDS)
                await asyncio.sleep(GATHER_SECONDS)
            except TimeoutError:
                pass
            self._count_again.clear()
            changed, self._changed = self._changed, set()
            try:
                await in_thread(presence.renew, self.process, self._own_counts(), changed)
            except redis.RedisError:  # the subscriber has logged this already
                self._changed |= changed
                await asyncio.sleep(RESTART_SECONDS)
                continue
            self._notify_counts(await in_thread(presence.counts, list(self.feeds)))

    def _notify_counts(self, totals: dict[str, int]) -> None:
        for topic_key, total in totals.items():
            if topic_key in self.feeds and self._spectators.get(topic_key) != total:
                self._spectators[topic_key] = total
                for audience, feed in self.feeds[topic_key].items():
                    if not audience.startswith(STREAM):
                        feed.notify(presence.badge(total))

    def _start(self) -> None:
        for loop in (self._listen, self._recheck_always, self._check_people_always, self._count_always):
            self._create_task(_run_forever(loop))

    def _create_task(self, coroutine: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _run_forever(loop: Callable[[], Coroutine[None, None, None]]) -> None:
    """Run one of the loops of the hub, and restart it after any error, because all sockets depend on it."""
    while True:
        try:
            await loop()
        except Exception:  # whatever it is: without its loops, the hub leaves every socket waiting for ever
            logger.exception("A loop of the hub failed and is restarted: %s", loop.__name__)
            await asyncio.sleep(RESTART_SECONDS)


def _feed(topic: str, key: str, audience: str, reading: asyncio.Lock) -> Feed:
    async def read(after: int) -> Reading:
        async with reading:
            return await in_thread(_read, topic, key, after, audience)

    pace = 0.0 if audience.startswith(STREAM) else PACES[topic]
    return Feed(f"{topic}:{key}", audience, read, pace=pace)


def _read(topic: str, key: str, after: int, audience: str) -> Reading:
    """What happened to a row, read from one snapshot of the database, so that each event matches its `seq`."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        if audience.startswith(STREAM):
            return STREAMS[topic].read(key, after, audience.removeprefix(STREAM))
        events = TOPICS[topic].events(key, after, audience)
    messages = [Message(event.seq, f"<!--seq {event.seq}-->{event.html}") for event in events]
    last = max(after, messages[-1].seq) if messages else after
    return Reading(messages, last, last)


def _current(topic_keys: list[str]) -> dict[str, int | None]:
    """The seq of each row, read in one thread with one connection."""
    seqs = {}
    for topic_key in topic_keys:
        topic, _, key = topic_key.partition(":")
        seqs[topic_key] = TOPICS[topic].current(key)
    return seqs


def _find_refused(subscriptions: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Those of the (topic key, audience, credential) that are not allowed to listen."""
    refused = []
    for subscription in subscriptions:
        topic_key, audience, credential = subscription
        topic, _, key = topic_key.partition(":")
        person = person_of(credential)
        if person is None or refusal(TOPICS[topic], key, audience.removeprefix(STREAM), person) is not None:
            refused.append(subscription)
    return refused


def refusal(topic: Topic, key: str, audience: str, person: SessionUser) -> int | None:
    """The code that refuses this person the row or the audience; None if they may listen."""
    if topic.current(key) is None or not topic.shows(key, person.viewer, person.visitor):
        return GONE
    return None if topic.allows(key, audience, person.viewer, person.visitor) else FORBIDDEN


hub = Hub()
"""The hub of this process; its tasks start with the first socket."""
