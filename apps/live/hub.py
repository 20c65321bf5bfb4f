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
from apps.live.feed import Feed, Listener
from apps.live.publisher import CHANNEL, PRESENCE, SESSION, fingerprint
from apps.live.session_user import identify
from apps.live.subscriber import listen
from apps.live.threads import in_thread
from apps.live.topics import TOPICS, Event

logger = logging.getLogger(__name__)

RECHECK_SECONDS = 3.0
PERMISSION_SECONDS = 30.0
GATHER_SECONDS = 0.2
"""Seconds for which changes of the number of spectators are collected before they are published."""
RESTART_SECONDS = 3.0
PERMISSION_BATCH = 100
"""Permissions that are checked in one call."""

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
        """Numbers of sockets by person; the consumer enforces the limit."""
        self._reading: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Locks by topic key: audiences are read one after the other, so that a topic can reuse what it has read."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._spectators: dict[str, int] = {}
        self._changed: set[str] = set()
        self._count_again = asyncio.Event()

    # ------------------------------------------------------------------ sockets

    def join(self, topic: str, key: str, audience: str, after: int, session_key: str = "") -> Listener:
        """Add a listener that gets all events after `after`. The caller has checked its permission."""
        if not self._tasks:
            self._start()
        topic_key = f"{topic}:{key}"
        audiences = self.feeds.setdefault(topic_key, {})
        if audience not in audiences:
            audiences[audience] = _feed(topic, key, audience, self._reading[topic_key])
        listener = audiences[audience].join(after, session_key)
        if topic_key in self._spectators:
            listener.notice(presence.badge(self._spectators[topic_key]))
        self._presence_changed(topic_key)
        return listener

    def leave(self, listener: Listener) -> None:
        """Remove a listener. Its feed is kept until the next recheck, because a reloaded page comes back at once."""
        listener.feed.leave(listener)
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
            self._create_task(self._check_people(name))
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

    async def _check_people(self, session: str = "") -> None:
        """Close the sockets of people who are no longer allowed to listen: of all people, or of one session."""
        groups: defaultdict[tuple[str, str, str], list[Listener]] = defaultdict(list)
        for topic_key, audiences in self.feeds.items():
            for audience, feed in audiences.items():
                for listener in feed.listeners:
                    if not session or session == fingerprint(listener.session_key):
                        groups[topic_key, audience, listener.session_key].append(listener)
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
        """Numbers of spectators by topic key; people who play from a seat do not count."""
        return {
            topic_key: sum(len(feed.listeners) for name, feed in audiences.items() if not name.startswith("seat"))
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
                for feed in self.feeds[topic_key].values():
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
    async def read(after: int) -> list[Event]:
        async with reading:
            return await in_thread(_events, topic, key, after, audience)

    return Feed(f"{topic}:{key}", audience, read)


def _events(topic: str, key: str, after: int, audience: str) -> list[Event]:
    """The events of a topic, read from one snapshot of the database, so that each event matches its `seq`."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return TOPICS[topic].events(key, after, audience)


def _current(topic_keys: list[str]) -> dict[str, int | None]:
    """The seq of each row, read in one thread with one connection."""
    seqs = {}
    for topic_key in topic_keys:
        topic, _, key = topic_key.partition(":")
        seqs[topic_key] = TOPICS[topic].current(key)
    return seqs


def _find_refused(subscriptions: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Those of the (topic key, audience, session key) that are not allowed to listen."""
    refused = []
    for subscription in subscriptions:
        topic_key, audience, session_key = subscription
        topic, _, key = topic_key.partition(":")
        viewer, visitor = identify(session_key)
        if not (TOPICS[topic].shows(key, viewer, visitor) and TOPICS[topic].allows(key, audience, viewer, visitor)):
            refused.append(subscription)
    return refused


hub = Hub()
"""The hub of this process; its tasks start with the first socket."""
