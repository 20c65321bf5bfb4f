"""The address of the MCP server, `/mcp`, beside Django."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from apps.accounts.request_limits import HandshakeLimit
from apps.api.problems import UNKNOWN_TOKEN
from apps.api.tokens import buckets_of_header, viewer_of_token
from apps.live.threads import in_thread

if TYPE_CHECKING:
    from apps.mcp.server import McpServer

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
NOT_FOR_BROWSERS = (
    "This is the address of an MCP server. Give it to a client of the Model Context Protocol, which sends POST "
    "requests."
)


class Mcp:
    """Answers what is sent to `/mcp`, and passes everything else on.

    Args:
        application: the site, to whose API the tools send their requests.
    """

    def __init__(self, application: Application) -> None:
        self.application = application
        self._limited = HandshakeLimit(self._answer, buckets_of_header)
        self._starting = asyncio.Lock()
        self.server: McpServer | None = None
        """What answers; None until the first request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and scope["path"].rstrip("/") == PATH:
            await self._limited(scope, receive, send)
        else:
            await self.application(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        if not validate_host(split_domain_port(headers.get(b"host", b"").decode("latin-1"))[0], settings.ALLOWED_HOSTS):
            await _say(send, 400, "This server has a different host name.")
        elif scope["method"] != "POST":  # there is nothing to listen to, and no session to end
            await _say(send, 405, NOT_FOR_BROWSERS, (b"allow", b"POST"))
        elif authorization and await in_thread(viewer_of_token, authorization) is None:
            await _say(send, 401, UNKNOWN_TOKEN, (b"www-authenticate", b"Bearer"))
        else:
            await (await self._started()).handle(scope, receive, send)

    async def _started(self) -> McpServer:
        """The server, which the first request makes."""
        async with self._starting:
            if self.server is None:
                server_class = await asyncio.to_thread(_load)
                self.server = server_class(self.application)
                await self.server.start()
        return self.server


def _load() -> type[McpServer]:
    from apps.mcp.server import McpServer  # noqa: PLC0415 (takes 0.7 s, and many processes are never asked)

    return McpServer


async def _say(send: Send, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> None:
    body = sentence.encode()
    kind, length = (b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [kind, length, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
