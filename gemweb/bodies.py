"""Limits for request bodies. Django would store a whole body on disk before a page could refuse it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
TOO_LONG = b"This request is too large for this address. Nothing was stored."


class BoundedBodies:
    """Answers 413 to requests with a body that is too long, without waiting for the rest of it.

    Args:
        max_bytes: the limit for most addresses.
        limits: bytes by path, for addresses with a higher limit.
    """

    def __init__(self, application: Callable[..., Awaitable[None]], max_bytes: int, limits: Mapping[str, int]) -> None:
        self.application, self.max_bytes, self.limits = application, max_bytes, limits

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Pass on requests with a body within the limit."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        max_bytes = self.limits.get(scope["path"], self.max_bytes)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > max_bytes:
            await _refuse(send)
            return
        received_bytes = 0

        async def receive_within_limit() -> Any:
            nonlocal received_bytes
            message = await receive()
            if message["type"] == "http.request":
                received_bytes += len(message["body"])
                if received_bytes > max_bytes:  # a chunked body without a length: end it as if the client had gone
                    return {"type": "http.disconnect"}
            return message

        await self.application(scope, receive_within_limit, send)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": TOO_LONG, "more_body": False})
