"""Clients of OpenEnv's addresses in the same process: what uvicorn would pass on, as queues of messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from apps.openenv.application import OpenEnv

HOST = (b"host", b"testserver")
GUESS = "game:GuessTheNumber-v0-easy"
SECONDS = 60


async def _elsewhere(scope: dict[str, Any], receive: Any, send: Any) -> None:
    raise AssertionError(f"{scope['path']} is not an address of OpenEnv.")


application = OpenEnv(_elsewhere)


class Socket:
    """A WebSocket from the side of the client."""

    def __init__(self, path: str, token: str = "", address: str = "127.0.0.1") -> None:
        headers = [HOST, *([(b"authorization", f"Bearer {token}".encode())] if token else [])]
        self.scope = {
            "type": "websocket", "path": path, "headers": headers, "query_string": b"", "client": (address, 1),
        }  # fmt: skip
        self._in: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._out: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task = asyncio.create_task(application(self.scope, self._in.get, self._out.put))

    async def open(self) -> dict[str, Any]:
        """Send the handshake; returns the first message of the application."""
        await self._in.put({"type": "websocket.connect"})
        return await self.message()

    async def message(self) -> dict[str, Any]:
        """The next message of the application."""
        return await asyncio.wait_for(self._out.get(), SECONDS)

    async def send(self, text: str | None, data: bytes | None = None) -> None:
        """Send a text or bytes."""
        await self._in.put({"type": "websocket.receive", "text": text, "bytes": data})

    async def ask(self, kind: str, data: Any = None) -> dict[str, Any]:
        """Send a message of the protocol, and read its reply."""
        await self.send(json.dumps({"type": kind} | ({} if data is None else {"data": data})))
        reply: dict[str, Any] = json.loads((await self.message())["text"])
        return reply

    async def leave(self) -> None:
        """Close the connection, and wait until the application has noticed."""
        await self._in.put({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(self.task, SECONDS)

    @property
    def has_unread(self) -> bool:
        """Whether the application has sent something that nobody has read."""
        return not self._out.empty()


@asynccontextmanager
async def connected(env_id: str = GUESS, **kwargs: Any) -> AsyncIterator[Socket]:
    """A session that was accepted."""
    socket = Socket(f"/openenv/{env_id}/ws", **kwargs)
    assert (await socket.open())["type"] == "websocket.accept"
    try:
        yield socket
    finally:
        await socket.leave()


async def request(method: str, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
    """Send a request; returns the status and the JSON."""
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    path, _, query = path.partition("?")
    headers = [HOST, *([(b"authorization", f"Bearer {token}".encode())] if token else [])]
    scope = {
        "type": "http", "method": method, "path": path, "headers": headers, "query_string": query.encode(),
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    pending = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return pending.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application(scope, receive, send)
    text = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], json.loads(text) if text else None
