"""How much a request may send: Django keeps a whole body on the disk before any page can refuse it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
TOO_LONG = b"This is longer than this address takes. Nothing was stored."


class BoundedBodies:
    """Answers 413 to requests whose body is too long, before the rest of it arrives.

    Args:
        limits: bytes by address, for those that take more than `most`.
    """

    def __init__(self, application: Callable[..., Awaitable[None]], most: int, limits: Mapping[str, int]) -> None:
        self.application, self.most, self.limits = application, most, limits

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Hand on what is short enough."""
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        most = self.limits.get(scope["path"], self.most)
        said = dict(scope["headers"]).get(b"content-length", b"0")
        if not said.isdigit() or int(said) > most:
            await _refuse(send)
            return
        arrived = 0

        async def counted() -> Any:
            nonlocal arrived
            message = await receive()
            if message["type"] == "http.request":
                arrived += len(message["body"])
                if arrived > most:  # sent in chunks, without a length: for Django its sender has gone
                    return {"type": "http.disconnect"}
            return message

        await self.application(scope, counted, send)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": TOO_LONG, "more_body": False})
