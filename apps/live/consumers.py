"""The consumers of WebSockets. They push events to pages and programs; actions of people are POST requests."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error as DatabaseError

from apps.live.feed import BEGINNING, Closed, Listener
from apps.live.hub import GONE, hub, refusal
from apps.live.positions import MAX_SEQ, position
from apps.live.session_user import SessionUser, credential_of_header, identify, person_of, session_key_of
from apps.live.streams import STREAMS
from apps.live.threads import in_thread
from apps.live.topics import TOPICS
from apps.networks import network_of

TRY_LATER = 1013
NO_POSITION = 4400
NO_TOKEN = 4401
NOT_ACCEPTED = 1008
TOO_BIG = 1009
TOO_MANY = 4429
MAX_MESSAGE_CHARACTERS = 256
MAX_MESSAGES_PER_MINUTE = 20
"""Our pages send no messages, so a client that sends more than this is not one of our pages."""


class PushConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """What both kinds of sockets share: they send what a listener gets, and take next to nothing.

    A socket is accepted before it is refused, because a page can read the close code only of an open socket: 4400 no
    such position, 4401 no such token, 4403 not allowed, 4404 no such row, 4429 too many sockets, 1000 the row is over,
    1008 and 1009 for messages of the client, 1011 and 1013 try again.
    """

    listener: Listener | None = None
    pump: asyncio.Task[None] | None = None
    person = ""
    minute, messages = 0, 0
    is_closed = False

    async def connect(self) -> None:
        """Admit the person if the row and the limits allow it, and begin to send events."""
        await self.accept()
        self.query = parse_qs(self.scope["query_string"].decode("latin-1"))
        self.topic, self.key = self.scope["url_route"]["kwargs"]["topic"], self.scope["url_route"]["kwargs"]["key"]
        try:
            joined = await self.join()
        except DatabaseError:
            joined = TRY_LATER
        if isinstance(joined, int):
            await self.end(joined)
            return
        self.listener = joined
        self.pump = asyncio.create_task(self._send_all(joined))

    async def join(self) -> Listener | int:
        """A listener, or the code with which the socket is closed at once."""
        raise NotImplementedError  # a consumer of Channels cannot have an abstract base

    def enter(self, person: SessionUser) -> bool:
        """Count the socket. Returns False if this person has as many as they may have."""
        name, limit = place_of(person, self.scope.get("client"))
        if not hub.enter(name, limit):
            return False
        self.person = name
        return True

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignore a few short messages, and close the socket above the limits."""
        if len(text_data or bytes_data or "") > MAX_MESSAGE_CHARACTERS:
            await self.end(TOO_BIG)
            return
        minute = int(time.monotonic() / 60)
        self.messages = self.messages + 1 if minute == self.minute else 1
        self.minute = minute
        if self.messages > MAX_MESSAGES_PER_MINUTE:
            await self.end(NOT_ACCEPTED)

    async def end(self, code: int) -> None:
        """Close the socket, once, and send nothing afterwards: that would be an error of the server."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.pump is not None and self.pump is not asyncio.current_task():
            self.pump.cancel()
        await self.close(code)

    async def disconnect(self, code: int) -> None:
        """Stop sending, and give back the listener and the place in the socket count."""
        if self.pump is not None:
            self.pump.cancel()
        if self.listener is not None:
            hub.leave(self.listener)
            self.listener = None
        if self.person:
            hub.exit(self.person)
            self.person = ""

    async def _send_all(self, listener: Listener) -> None:
        try:
            while True:
                await self.send(await listener.next())
        except Closed as closed:
            await self.end(closed.code)
        except OSError:  # the client has gone; `disconnect` follows
            pass


class LiveConsumer(PushConsumer):
    """`/live/<topic>/<key>/?after=<seq>&audience=<name>`: sends a page all events after `after`, then new ones."""

    async def join(self) -> Listener | int:
        """See `PushConsumer.join`."""
        topic = TOPICS.get(self.topic)
        if topic is None:
            return GONE
        audience = self.query.get("audience", ["watch"])[-1]
        session_key = session_key_of(self.scope["cookies"])
        person = await in_thread(identify, session_key) if session_key else identify("")
        if not self.enter(person):
            return TOO_MANY
        code = await in_thread(refusal, topic, self.key, audience, person)
        if code is not None:
            return code
        after = self.query.get("after", ["0"])[-1]
        seq = min(int(after), MAX_SEQ) if after.isascii() and after.isdecimal() and len(after) < 20 else 0
        return hub.join(self.topic, self.key, audience, seq, session_key)


class EventsConsumer(PushConsumer):
    """`/api/v1/<rows>/<key>/events?after=<seq>`: sends a program the events after `after` as JSON, then new ones.

    They are those of the address over HTTP. A token counts before a session, and a session only with a page of ours.
    """

    async def join(self) -> Listener | int:
        """See `PushConsumer.join`."""
        headers = dict(self.scope["headers"])
        header = headers.get(b"authorization", b"").decode("latin-1")
        given = headers.get(b"last-event-id", b"").decode("latin-1") or self.query.get("after", [""])[-1]
        after = position(given) if given else BEGINNING
        if after is None:
            return NO_POSITION
        credential = session_key_of(self.scope["cookies"])
        if header:
            found = await in_thread(credential_of_header, header)
            if found is None:
                return NO_TOKEN
            credential = found
        person = await in_thread(person_of, credential) if credential else identify("")
        if person is None:
            return NO_TOKEN
        if not self.enter(person):
            return TOO_MANY
        row = await in_thread(self._find, person, after)
        if isinstance(row, int):
            return row
        audience, is_over = row
        return hub.join_stream(self.topic, self.key, audience, after, credential, is_over=is_over)

    def _find(self, person: SessionUser, after: int) -> tuple[str, bool] | int:
        """The audience of this person and whether the row is over, or the code that refuses row or position."""
        stream, topic = STREAMS[self.topic], TOPICS[self.topic]
        if not stream.has(self.key, self.scope["url_route"]["kwargs"].get("kind", "")):
            return GONE
        if not topic.shows(self.key, person.viewer, person.visitor):
            return GONE
        top, is_over = stream.reach(self.key)
        if after > top:
            return NO_POSITION
        return stream.audience_of(self.key, person.viewer, person.visitor), is_over


def place_of(person: SessionUser, client: Any) -> tuple[str, int]:
    """The name under which sockets and streams of a person are counted, and their limit in one web process."""
    if person.viewer.is_authenticated:
        return f"user {person.viewer.pk}", settings.SOCKETS_PER_USER
    network = network_of(client[0]) if isinstance(client, tuple | list) else "unknown"
    return f"network {network}", settings.SOCKETS_PER_ADDRESS
