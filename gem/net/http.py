"""A small HTTP client for addresses that other people chose, such as an endpoint agent's server.

It resolves a name once, checks every address that comes back and connects to one of exactly those, so that a name
cannot point elsewhere a moment later. It follows no redirect, reads no proxy from the environment, opens no unix
socket, takes no compressed answer, and stops at a deadline and at a number of bytes.

    guard = Guard(["10.1.0.0/16:8000"])            # global addresses, and this network on this port
    async with Client(guard) as client:
        async with client.send("POST", url, headers, body, seconds=60, most_bytes=1_000_000) as answer:
            async for part in answer.body: ...

Needs the package httpcore (`pip install 'httpcore[asyncio]'`).
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import httpcore

from gem.errors import GemError, InvalidArgument
from gem.net.addresses import Anywhere, Guard

__all__ = [
    "Answer", "Anywhere", "Blocked", "Client", "Garbled", "Guard", "HttpError", "TimedOut", "TooLarge", "Unreachable",
    "check_url", "origin",
]  # fmt: skip

CONNECT_SECONDS = 10.0
CONNECTIONS = 512


class HttpError(GemError):
    """A request that got no answer; the message is a sentence that names neither a secret nor the address."""


class Blocked(HttpError):
    """The address is not one that may be asked."""


class Unreachable(HttpError):
    """No connection, or one that broke."""


class TimedOut(HttpError):
    """The deadline passed."""


class TooLarge(HttpError):
    """More bytes than were allowed for."""


class Garbled(HttpError):
    """Something that is not HTTP, or not as it was asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent; `body` can be read once."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: AsyncIterator[bytes]


class Client:
    """Connections of one event loop; close it there."""

    def __init__(self, guard: Guard) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls(),
            network_backend=_Pinned(guard),
            max_connections=CONNECTIONS,
            keepalive_expiry=30.0,
            retries=0,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all connections."""
        await self._pool.aclose()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        *,
        seconds: float,
        most_bytes: int,
    ) -> AsyncIterator[Answer]:
        """Send a request; the block reads the answer, and all of it has `seconds`.

        Raises:
            HttpError: Blocked, Unreachable, TimedOut, TooLarge or Garbled.
        """
        sent = [("Accept-Encoding", "identity"), *headers.items()]
        timeouts = {"connect": min(CONNECT_SECONDS, seconds)}
        try:
            async with (
                asyncio.timeout(seconds),
                self._pool.stream(
                    method, url, headers=sent, content=content, extensions={"timeout": timeouts}
                ) as response,
            ):
                found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                if found.get("content-encoding", "identity").lower() != "identity":
                    raise Garbled("The server sent a compressed answer, which was not asked for.")
                yield Answer(response.status, found, _capped(response, most_bytes))
        except (TimeoutError, httpcore.TimeoutException) as error:
            raise TimedOut(f"The server did not answer within {seconds:g} s.") from error
        except httpcore.ConnectError as error:
            raise Unreachable(f"No connection to the server: {_reason(error)}.") from error
        except httpcore.NetworkError as error:
            raise Unreachable("The connection to the server broke.") from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise Garbled("The server sent something that is not HTTP, or closed the connection early.") from error


def origin(url: str) -> str:
    """Scheme, host and port of an address: what a key belongs to, and what a limit counts."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def check_url(url: str) -> str:
    """The address as it can be sent to.

    Raises:
        InvalidArgument: if it is not one of http or https, or carries a password, a query or a fragment.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
        plain = (host or "").encode("idna").decode() if host and ":" not in host else host
    except ValueError as error:
        raise InvalidArgument(f"This is not an address: {error}.") from error
    if parts.scheme not in ("http", "https") or not plain:
        raise InvalidArgument("An address begins with http:// or https://, for example http://127.0.0.1:8000/v1.")
    if parts.username is not None or parts.password is not None:
        raise InvalidArgument("Leave user and password out of the address; the key has a field of its own.")
    if parts.query or parts.fragment:
        raise InvalidArgument("An address ends with its path: leave out what follows ? or #.")
    if any(character.isspace() or not character.isprintable() for character in url.strip()):
        raise InvalidArgument("An address has no spaces.")
    shown = f"[{plain}]" if ":" in plain else plain
    where = f"{shown}:{port}" if port is not None else shown
    return f"{parts.scheme}://{where}{parts.path.rstrip('/')}"


class _Pinned(httpcore.AsyncNetworkBackend):
    """Connects to addresses that were checked, and to nothing else; TLS and the Host header keep the name."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of the name that answers; all of them must be permitted."""
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise Unreachable("The name of the server cannot be found.") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not addresses or not all(self._guard.permits(address, port) for address in addresses):
            raise Blocked(
                "The server does not have a public address, and this site does not allow others. "
                "Whoever runs the site can put its network on the list (PRIVATE_ENDPOINTS)."
            )
        for address in addresses[:-1]:
            try:
                return await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore.ConnectError:
                continue
        return await self._backend.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Never."""
        raise Blocked("Unix sockets are not asked.")

    async def sleep(self, seconds: float) -> None:
        """As the class it extends."""
        await asyncio.sleep(seconds)


async def _capped(response: httpcore.Response, most: int) -> AsyncIterator[bytes]:
    size = 0
    async for part in response.aiter_stream():
        size += len(part)
        if size > most:
            raise TooLarge(f"The answer has more than {most:,} bytes.")
        yield part


@functools.cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes 50 ms."""
    return httpcore.default_ssl_context()


def _reason(error: Exception) -> str:
    """What went wrong in a few words; the library's own text names the address."""
    return "its certificate is not valid" if "certificate" in str(error) else "it is not there, or refuses connections"
