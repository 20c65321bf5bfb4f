"""Limits for request bodies. Django would store a whole body on disk before a page could refuse it.

What can be decided by the headers is decided before the body is read. The rest of a refused body is never waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

from django.utils.http import parse_header_parameters

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
BYTES_PER_SECOND = 64 * 1024
"""The slowest connection that is waited for."""
TOO_LONG = "This request is too large for this address. Nothing was stored."
TOO_SLOW = "This request did not arrive in time. Nothing was stored. Send it again."
NO_UTF_8 = "This site reads UTF-8 only. Nothing was changed."
NO_CONTENT_TYPE = "The Content-Type of this request cannot be read. Nothing was changed."


class BodyRefused(Exception):
    """A request that is answered without its body. The message is a sentence for people."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers or {}


class Gate(Protocol):
    """Decides on the bodies that are posted to one address."""

    max_bytes: int

    def admit(self, scope: Scope, length: int | None, body: Body) -> AbstractAsyncContextManager[None]:
        """Hold a place for this body until the block ends; `length` is None if the headers do not tell it.

        Raises:
            BodyRefused: if the body may not be sent.
        """
        ...


class SizeLimit:
    """A gate that only limits the number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes

    @asynccontextmanager
    async def admit(self, scope: Scope, length: int | None, body: Body) -> AsyncIterator[None]:
        """Admit every request."""
        yield


class BoundedBodies:
    """Passes on requests whose bodies are admitted, not too long, and arrive in time.

    Args:
        max_bytes: the limit for most addresses.
        gates: by path, for addresses that decide otherwise on what is posted to them; the first part of a path between
            two slashes stands for all addresses below it.
        seconds: how long a body may take, besides a second for each `BYTES_PER_SECOND`.
        describe: the response to a refused request, as its content type and its body.
    """

    def __init__(
        self,
        application: Callable[..., Awaitable[None]],
        max_bytes: int,
        gates: Mapping[str, Gate],
        seconds: float,
        describe: Callable[[Scope, BodyRefused], tuple[str, bytes]] | None = None,
    ) -> None:
        self.application, self.seconds, self.describe = application, seconds, describe or as_text
        self.limit, self.gates = SizeLimit(max_bytes), gates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, or refuse it."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        gate = self._gate_of(scope["path"]) if scope["method"] == "POST" else self.limit
        body = Body(receive, gate.max_bytes, self.seconds)
        try:
            length = _check_headers(scope, gate.max_bytes)
            async with gate.admit(scope, length, body):
                await self._pass_on(scope, body, send)
        except BodyRefused as refusal:
            await _answer(send, refusal, self.describe(scope, refusal))

    def _gate_of(self, path: str) -> Gate:
        return self.gates.get(path) or self.gates.get(f"/{path.split('/', 2)[1]}/", self.limit)

    async def _pass_on(self, scope: Scope, body: Body, send: Send) -> None:
        has_answered = False

        async def note_answer(message: Any) -> None:
            nonlocal has_answered
            has_answered = True
            await send(message)

        await self.application(scope, body.receive, note_answer)
        if body.refusal is not None and not has_answered:
            raise body.refusal


class Body:
    """Receives a body. One that is refused ends for the application as if the client had gone."""

    def __init__(self, receive: Receive, max_bytes: int, seconds: float) -> None:
        self._receive, self._max_bytes, self._seconds = receive, max_bytes, seconds
        self._began = asyncio.get_running_loop().time()
        self._wait: asyncio.Timeout | None = None
        self.received_bytes = 0
        self.is_complete = False
        self.refusal: BodyRefused | None = None

    @property
    def age(self) -> float:
        """For how many seconds the body has been on its way."""
        return asyncio.get_running_loop().time() - self._began

    def refuse(self, refusal: BodyRefused) -> None:
        """Stop waiting for the rest of the body, and answer with the refusal."""
        self.refusal = self.refusal or refusal
        if self._wait is not None and not self._wait.expired():
            self._wait.reschedule(self._began)

    async def receive(self) -> Any:
        """The next part of the body; after the last one, whatever the server reports."""
        if self.refusal is not None:
            return {"type": "http.disconnect"}
        if self.is_complete:
            return await self._receive()
        deadline = self._began + self._seconds + self.received_bytes / BYTES_PER_SECOND
        try:
            async with asyncio.timeout_at(deadline) as self._wait:
                message = await self._receive()
        except TimeoutError:
            return self._end(BodyRefused(408, TOO_SLOW))
        finally:
            self._wait = None
        if message["type"] == "http.request":
            self.received_bytes += len(message.get("body", b""))
            self.is_complete = not message.get("more_body", False)
            if self.received_bytes > self._max_bytes:
                return self._end(BodyRefused(413, TOO_LONG))
        return message

    def _end(self, refusal: BodyRefused) -> Any:
        self.refuse(refusal)
        return {"type": "http.disconnect"}


def _check_headers(scope: Scope, max_bytes: int) -> int | None:
    """The length of the body; None if the headers do not tell it.

    Raises:
        BodyRefused: if it is too long, in another character set than UTF-8, or of a type that cannot be read.
    """
    values: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        values.setdefault(name, []).append(value)
    content_type = b",".join(values.get(b"content-type", [])).decode("latin-1")
    try:
        charset = parse_header_parameters(content_type)[1].get("charset", "utf-8")
    except (ValueError, LookupError) as error:  # such as `charset*=foo''bar`; Django would raise them anywhere
        raise BodyRefused(400, NO_CONTENT_TYPE) from error
    if charset.lower() not in {"utf-8", "utf8"}:
        raise BodyRefused(415, NO_UTF_8)
    length = values.get(b"content-length", [b""])[-1]
    if length and (not length.isdigit() or int(length[:20]) > max_bytes):
        raise BodyRefused(413, TOO_LONG)
    return int(length) if length else None


def as_text(_: Scope, refusal: BodyRefused) -> tuple[str, bytes]:
    """A refusal as plain text, for pages."""
    return "text/plain; charset=utf-8", str(refusal).encode()


async def _answer(send: Send, refusal: BodyRefused, description: tuple[str, bytes]) -> None:
    content_type, body = description
    headers = {"content-type": content_type, "connection": "close", **refusal.headers}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": False})
