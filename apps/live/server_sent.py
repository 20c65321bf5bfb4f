"""Server-Sent Events: responses that the hub continues after Django has begun them.

A view decides like any other, with all middleware: who asks, what they may see, where they continue. For a stream it
calls `subscribe` and returns the beginning. When Django has finished the request, with its thread and its database
connection, `EventStreams` takes over the response and sends events as the hub reads them. So an open stream costs a
socket and a listener, and no thread.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.live.feed import Closed, Listener, Step
from apps.live.hub import hub
from apps.live.scopes import ABORT, END

HEARTBEAT_SECONDS = 15.0
"""After this time without an event, a comment is sent, so that proxies and clients see that the stream is alive."""
SEND_SECONDS = 60.0
"""A client that takes nothing for this time is disconnected. It can come back and continues where it was."""
CHUNK_CHARACTERS = 32_000
"""Events that are ready are sent together, up to this size."""
RETRY_MILLISECONDS = (1000, 4000)
"""When a client comes back: drawn for each, so that not all come at once after a restart."""
HEARTBEAT = b":\n\n"
GOING_AWAY = 1001
"""Why a stream ends when the process stops. Its reader connects again, to another one."""
SUBSCRIPTION = "gemweb.subscription"
"""The entry of a scope with the subscription that a view has accepted."""
_OF_A_WHOLE_BODY = {b"content-length", b"etag"}

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a client may follow."""

    topic: str
    key: str
    audience: str
    after: int
    is_over: bool
    """Whether the row is over."""
    credential: str
    """By what the client is known: see `apps.live.session_user.person_of`."""
    person: str
    """The name under which sockets and streams of one person are counted."""
    limit: int
    too_many: HttpResponse
    """The response to somebody who has as many."""


def subscribe(request: HttpRequest, subscription: Subscription) -> HttpResponse:
    """The beginning of the response to a request for events, which `EventStreams` continues."""
    getattr(request, "scope", {})[SUBSCRIPTION] = subscription
    response = HttpResponse(HEARTBEAT, content_type="text/event-stream; charset=utf-8")
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"
    return response


class EventStreams:
    """Passes requests on, and continues the responses to those whose views have called `subscribe`."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        start: dict[str, Any] | None = None

        async def hold_back(message: dict[str, Any]) -> None:
            nonlocal start
            is_stream = SUBSCRIPTION in scope and scope["method"] != "HEAD"
            if is_stream and message["type"] == "http.response.start" and message["status"] == 200:
                start = message
            elif start is None:
                await send(message)

        await self.application(scope, receive, hold_back)
        subscription: Subscription | None = scope.pop(SUBSCRIPTION, None)
        if start is None or subscription is None:
            return
        if not hub.enter(subscription.person, subscription.limit):
            await _refuse(subscription.too_many, send)
            return
        try:
            start["headers"] = [(name, value) for name, value in start["headers"] if not _is_of_a_whole_body(name)]
            await send(start)
            await _follow(subscription, scope, receive, send)
        finally:
            hub.exit(subscription.person)


def _is_of_a_whole_body(name: bytes) -> bool:
    return name.lower() in _OF_A_WHOLE_BODY


async def _refuse(response: HttpResponse, send: Send) -> None:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content, "more_body": False})


async def _follow(subscription: Subscription, scope: Scope, receive: Receive, send: Send) -> None:
    """Send events until the row is over, the client goes, or it may no longer read them."""
    listener = hub.join_stream(
        subscription.topic,
        subscription.key,
        subscription.audience,
        subscription.after,
        subscription.credential,
        is_over=subscription.is_over,
    )
    scope[END] = partial(listener.close, GOING_AWAY)
    pump = asyncio.create_task(_pump(listener, send, scope.get(ABORT)))
    departure = asyncio.create_task(_wait_for_departure(receive))
    try:
        await asyncio.wait({pump, departure}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hub.leave(listener)
        for task in (pump, departure):
            task.cancel()
        await asyncio.gather(pump, departure, return_exceptions=True)


async def _wait_for_departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pump(listener: Listener, send: Send, abort: Callable[[], None] | None) -> None:
    """Send chunks until the listener is closed. Reading more waits until the client has taken what was sent."""
    chunk = f"retry: {random.randint(*RETRY_MILLISECONDS)}\n\n".encode()
    while True:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            if abort is not None:
                abort()
            return
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                chunk = await _next_chunk(listener)
        except TimeoutError:
            chunk = HEARTBEAT
        except Closed:
            break
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _next_chunk(listener: Listener) -> bytes:
    """The next event, with those that are ready too.

    Raises:
        Closed: if the stream ends.
    """
    step: Step | None = await listener.next_step()
    frames: list[str] = []
    characters = 0
    while step is not None:
        frames.append(f"id: {step.seq}\nevent: {step.name}\ndata: {step.text}\n\n")
        characters += len(step.text)
        step = listener.ready_step() if characters < CHUNK_CHARACTERS else None
    return "".join(frames).encode()
