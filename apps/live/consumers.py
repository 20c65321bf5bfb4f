"""The one socket: it pushes events and takes nothing. What a person does goes by POST."""

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
from apps.live.topics import TOPICS

TRY_LATER = 1013
NOT_ACCEPTED = 1008
TOO_BIG = 1009
TOO_MANY = 4429
MESSAGE_CHARACTERS = 256
MESSAGES_PER_MINUTE = 20
"""A page sends nothing; whoever sends more than this is no page of ours."""
LAST_SEQ = 2**31 - 1


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """`/live/<topic>/<key>/?after=<seq>&audience=<name>`: everything after `after`, then whatever happens.

    It is accepted before it is refused, because a browser tells its page only the close code of an open socket:
    4403 not allowed, 4404 nothing there, 4429 too many sockets, 1008 and 1009 for messages, 1011 and 1013 come again.
    """

    listener: Listener | None = None
    pump: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Let the person in if topic and caps allow it, and begin to send."""
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
        seq = min(int(after), LAST_SEQ) if after.isascii() and after.isdecimal() and len(after) < 20 else 0
        self.listener = hub.join(self.topic, self.key, self.audience, seq, session_key)
        self.pump = asyncio.create_task(self._send_all(self.listener))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Ignore a little, close on more."""
        if len(text_data or bytes_data or "") > MESSAGE_CHARACTERS:
            await self.close(TOO_BIG)
            return
        minute = int(time.monotonic() / 60)
        self.messages = self.messages + 1 if minute == self.minute else 1
        self.minute = minute
        if self.messages > MESSAGES_PER_MINUTE:
            await self.close(NOT_ACCEPTED)

    async def disconnect(self, code: int) -> None:
        """Leave nothing behind."""
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
        """Why the socket is closed at once; None if it may stay."""
        topic = TOPICS.get(self.topic)
        if topic is None:
            return GONE
        who = await in_thread(identify, session_key) if session_key else identify("")
        name, most = _cap(who, self.scope)
        if hub.sockets[name] >= most:
            return TOO_MANY
        hub.sockets[name] += 1
        self.person = name
        if await in_thread(topic.current, self.key) is None:
            return GONE
        allowed = await in_thread(topic.allows, self.key, self.audience, who.viewer, who.visitor)
        return None if allowed else FORBIDDEN

    async def _send_all(self, listener: Listener) -> None:
        try:
            while True:
                await self.send(await listener.next())
        except Closed as closed:
            await self.close(closed.code)
        except OSError:  # the other side went; `disconnect` follows
            pass


def _cap(who: SessionUser, scope: dict[str, object]) -> tuple[str, int]:
    """Under which name sockets are counted, and how many there may be in one web process."""
    if who.viewer.is_authenticated:
        return f"user {who.viewer.pk}", settings.SOCKETS_PER_USER
    client = scope.get("client")
    address = client[0] if isinstance(client, tuple | list) else "unknown"
    return f"address {address}", settings.SOCKETS_PER_ADDRESS
