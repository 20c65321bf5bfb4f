"""A small HTTP client for addresses that other people chose, such as the server of an endpoint agent.

It resolves a host name once, checks every address in the result and connects to one of exactly these, so that the name
cannot resolve to another address between check and connection (DNS rebinding). It follows no redirects, ignores the
proxies of the environment, opens no Unix sockets and accepts no compressed responses. Every response has a deadline and
a maximum size.

    guard = AddressGuard(["10.1.0.0/16:8000"])     # global addresses, and this network on this port
    async with GuardedClient(guard) as client:
        async with client.send("POST", url, headers, body, timeout_seconds=60, max_bytes=1_000_000) as response:
            async for part in response.body: ...

Needs the packages aiohttp and certifi (`pip install aiohttp certifi`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from gem.errors import InvalidArgument
from gem.net.addresses import AddressGuard, UnrestrictedGuard
from gem.net.errors import (
    AddressBlocked,
    ConnectionFailed,
    HttpError,
    HttpResponse,
    InvalidHttpResponse,
    RequestTimedOut,
    ResponseTooLarge,
    ServerUnreachable,
)

if TYPE_CHECKING:
    from gem.net.guarded_session import GuardedSession, GuardedSocket

__all__ = [
    "AddressBlocked", "AddressGuard", "ConnectionFailed", "GuardedClient", "HttpError", "HttpResponse",
    "InvalidHttpResponse", "RequestTimedOut", "ResponseTooLarge", "ServerUnreachable", "UnrestrictedGuard",
    "check_url", "origin",
]  # fmt: skip


class GuardedClient:
    """An HTTP client with a connection pool, which belongs to one event loop and has to be closed there."""

    def __init__(self, guard: AddressGuard) -> None:
        self.shows_server_errors = guard.shows_server_errors
        """Whether a server's own error message may be shown."""
        self._guard = guard
        self._session: GuardedSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        *,
        timeout_seconds: float,
        max_bytes: int,
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Send a request; the block gets the response.

        Args:
            timeout_seconds: the time limit for the whole block, reading the body included.
            max_bytes: the maximum size of the body.

        Raises:
            HttpError: one of its subclasses, also while the block reads the body.
        """
        return self._opened().send(method, url, headers, content, timeout_seconds, max_bytes)

    async def open_socket(
        self, url: str, headers: Mapping[str, str], *, timeout_seconds: float, max_bytes: int
    ) -> GuardedSocket:
        """Open a WebSocket; `url` begins with http or https.

        Args:
            timeout_seconds: the time limit for the handshake.
            max_bytes: the maximum size of a message.

        Raises:
            HttpError: one of its subclasses.
        """
        return await self._opened().open_socket(url, headers, timeout_seconds, max_bytes)

    def _opened(self) -> GuardedSession:
        if self._session is None:
            from gem.net.guarded_session import GuardedSession  # noqa: PLC0415 (see there)

            self._session = GuardedSession(self._guard)
        return self._session


def origin(url: str) -> str:
    """Return scheme, host and port of a URL. Keys belong to an origin, and limits count the requests to one."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def check_url(url: str) -> str:
    """Return the URL in a normalized form: the host in ASCII, without a slash at the end.

    Raises:
        InvalidArgument: if the scheme is not http or https, or the URL has a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
        ascii_host = (host or "").encode("idna").decode() if host and ":" not in host else host
    except ValueError as error:
        raise InvalidArgument(f"This is not an address: {error}.") from error
    if parts.scheme not in ("http", "https") or not ascii_host:
        raise InvalidArgument("An address begins with http:// or https://, for example http://127.0.0.1:8001/v1.")
    if parts.username is not None or parts.password is not None:
        raise InvalidArgument("Leave user and password out of the address; the key has a field of its own.")
    if parts.query or parts.fragment:
        raise InvalidArgument("An address ends with its path: leave out what follows ? or #.")
    if any(character.isspace() or not character.isprintable() for character in url.strip()):
        raise InvalidArgument("An address has no spaces.")
    bracketed_host = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
    netloc = f"{bracketed_host}:{port}" if port is not None else bracketed_host
    return f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}"
