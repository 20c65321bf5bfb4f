"""The only WebSocket consumer. It pushes events to pages; actions of people are POST requests."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import Error as DatabaseError

from apps.live.feed import Closed, Listener
from apps.live.hub import FORBIDDEN, GONE, hub
from apps.live.session_user import SessionUser, identify
from apps.live.threads import in_thread
from apps.live.topics import TOPICS, Topic
from apps.networks import network_of

TRY_LATER = 1013
NOT_ACCEPTED = 1008
TOO_BIG = 1009
TOO_MANY = 4429
MAX_MESSAGE_CHARACTERS = 256
MAX_MESSAGES_PER_MINUTE = 20
"""Our pages send no messages, so a client that sends more than this is not one of our pages."""
MAX_SEQ = 2**31 - 1


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """`/live/<topic>/<key>/?after=<seq>&audience=<name>`: sends all events after `after`, then new ones.

    A socket is accepted before it is refused, because a page can read the close code only of an open socket: 4403 not
    allowed, 4404 no such row, 4429 too many sockets, 1008 and 1009 for messages of the client, 1011 and 1013 try again.
    """

    listener: Listener | None = None
    pump: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Admit the person if the topic and the limits allow it, and begin to send events."""
        await self.accept()
        route = self.scope["url_route"]["kwargs"]
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        self.topic, self.key = route["topic"], route["key"]
        self.audience = query.get("audience", ["watch"])[-1]
        self.minute, self.messages = 0, 0
        self.person = ""
        session_key = self.scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        try:
            code = await self._admit(session_key)
        except DatabaseError:
            code = TRY_LATER
        if code is not None:
            await self.close(code)
            return
        after = query.get("after", ["0"])[-1]
        seq = min(int(after), MAX_SEQ) if after.isascii() and after.isdecimal() and len(after) < 20 else 0
        self.listener = hub.join(self.topic, self.key, self.audience, seq, session_key)
        self.pump = asyncio.create_task(self._send_all(self.listener))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignore a few short messages, and close the socket above the limits."""
        if len(text_data or bytes_data or "") > MAX_MESSAGE_CHARACTERS:
            await self.close(TOO_BIG)
            return
        minute = int(time.monotonic() / 60)
        self.messages = self.messages + 1 if minute == self.minute else 1
        self.minute = minute
        if self.messages > MAX_MESSAGES_PER_MINUTE:
            await self.close(NOT_ACCEPTED)

    async def disconnect(self, code: int) -> None:
        """Stop sending, and give back the listener and the place in the socket count."""
        if self.pump is not None:
            self.pump.cancel()
        if self.listener is not None:
            hub.leave(self.listener)
            self.listener = None
        if self.person:
            hub.sockets[self.person] -= 1
            if hub.sockets[self.person] <= 0:
                del hub.sockets[self.person]

    async def _admit(self, session_key: str) -> int | None:
        """The code with which to close the socket at once; None if it may stay open."""
        topic = TOPICS.get(self.topic)
        if topic is None:
            return GONE
        session_user = await in_thread(identify, session_key) if session_key else identify("")
        name, limit = _socket_limit(session_user, self.scope)
        if hub.sockets[name] >= limit:
            return TOO_MANY
        hub.sockets[name] += 1
        self.person = name
        return await in_thread(refusal, topic, self.key, self.audience, session_user)

    async def _send_all(self, listener: Listener) -> None:
        try:
            while True:
                await self.send(await listener.next())
        except Closed as closed:
            await self.close(closed.code)
        except OSError:  # the client has gone; `disconnect` follows
            pass


def refusal(topic: Topic, key: str, audience: str, session_user: SessionUser) -> int | None:
    """The code that refuses this person the row or the audience; None if they may listen."""
    if topic.current(key) is None or not topic.shows(key, session_user.viewer, session_user.visitor):
        return GONE
    return None if topic.allows(key, audience, session_user.viewer, session_user.visitor) else FORBIDDEN


def _socket_limit(session_user: SessionUser, scope: dict[str, object]) -> tuple[str, int]:
    """The name under which the sockets of a person are counted, and their limit in one web process."""
    if session_user.viewer.is_authenticated:
        return f"user {session_user.viewer.pk}", settings.SOCKETS_PER_USER
    client = scope.get("client")
    network = network_of(client[0]) if isinstance(client, tuple | list) else "unknown"
    return f"network {network}", settings.SOCKETS_PER_ADDRESS
