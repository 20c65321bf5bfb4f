"""A small HTTP client for addresses that other people chose, such as the server of an endpoint agent.

It resolves a host name once, checks every address in the result and connects to one of exactly these, so that the name
cannot resolve to another address between check and connection (DNS rebinding). It follows no redirects, ignores the
proxies of the environment, opens no Unix sockets and accepts no compressed responses. Every response has a deadline and
a maximum size.

    guard = AddressGuard(["10.1.0.0/16:8000"])     # global addresses, and this network on this port
    async with GuardedClient(guard) as client:
        async with client.send("POST", url, headers, body, timeout_seconds=60, max_bytes=1_000_000) as response:
            async for part in response.body: ...

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
from gem.net.addresses import AddressGuard, UnrestrictedGuard

__all__ = [
    "AddressBlocked", "AddressGuard", "ConnectionFailed", "GuardedClient", "HttpError", "HttpResponse",
    "InvalidHttpResponse", "RequestTimedOut", "ResponseTooLarge", "ServerUnreachable", "UnrestrictedGuard",
    "check_url", "origin",
]  # fmt: skip

CONNECT_TIMEOUT_SECONDS = 10.0
MAX_CONNECTIONS = 512
CONNECTIONS_OF_A_POOL = 8


class HttpError(GemError):
    """A request failed; the message is a sentence that contains neither secrets nor the address."""


class AddressBlocked(HttpError):
    """The guard does not allow a connection to this address."""


class ServerUnreachable(HttpError):
    """The connection could not be made, or it broke."""


class ConnectionFailed(ServerUnreachable):
    """The connection could not be made, so that no request was sent."""


class RequestTimedOut(HttpError):
    """The response did not arrive before the deadline."""


class ResponseTooLarge(HttpError):
    """The response has more bytes than the caller allows."""


class InvalidHttpResponse(HttpError):
    """The response is not valid HTTP, or compressed."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]
    """The headers by their names in lower case."""
    body: AsyncIterator[bytes]
    """The content in parts; it can be read once."""


class _Pools:
    """Small connection pools, because a pool asks each of its connections about its state for every request."""

    def __init__(self, guard: AddressGuard) -> None:
        self._make = functools.partial(
            httpcore.AsyncConnectionPool,
            ssl_context=_tls_context(),
            network_backend=_PinnedBackend(guard),
            max_connections=CONNECTIONS_OF_A_POOL,
            keepalive_expiry=30.0,
            retries=0,
        )
        self._requests: dict[httpcore.AsyncConnectionPool, int] = {}
        """The requests under way, by pool."""

    @asynccontextmanager
    async def free(self) -> AsyncIterator[httpcore.AsyncConnectionPool]:
        """The first pool with a free connection, for one request; if all are busy, the one with the fewest requests."""
        free = (pool for pool, requests in self._requests.items() if requests < CONNECTIONS_OF_A_POOL)
        pool = next(free, None)
        if pool is None and len(self._requests) * CONNECTIONS_OF_A_POOL < MAX_CONNECTIONS:
            pool = self._make()
        elif pool is None:
            pool = min(self._requests, key=self._requests.__getitem__)
        self._requests[pool] = self._requests.get(pool, 0) + 1
        try:
            yield pool
        finally:
            if pool in self._requests:  # unless all were closed meanwhile
                self._requests[pool] -= 1

    async def aclose(self) -> None:
        """Close all connections."""
        pools = list(self._requests)
        self._requests.clear()
        for pool in pools:
            await pool.aclose()


class GuardedClient:
    """An HTTP client with a connection pool, which belongs to one event loop and has to be closed there."""

    def __init__(self, guard: AddressGuard) -> None:
        self.shows_server_errors = guard.shows_server_errors
        """Whether a server's own error message may be shown."""
        self._pools = _Pools(guard)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._pools.aclose()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        *,
        timeout_seconds: float,
        max_bytes: int,
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and yield the response.

        Args:
            timeout_seconds: the time limit for the whole block, reading the body included.
            max_bytes: the maximum size of the body.

        Raises:
            HttpError: one of its subclasses, also while the block reads the body.
        """
        all_headers = [("Accept-Encoding", "identity"), *headers.items()]
        timeouts = {"connect": min(CONNECT_TIMEOUT_SECONDS, timeout_seconds)}
        try:
            async with (
                asyncio.timeout(timeout_seconds),
                self._pools.free() as pool,
                pool.stream(
                    method, url, headers=all_headers, content=content, extensions={"timeout": timeouts}
                ) as response,
            ):
                response_headers = {
                    name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
                }
                if response_headers.get("content-encoding", "identity").lower() != "identity":
                    raise InvalidHttpResponse("The server sent a compressed answer, which was not asked for.")
                yield HttpResponse(response.status, response_headers, _limit_size(response, max_bytes))
        except (TimeoutError, httpcore.TimeoutException) as error:
            raise RequestTimedOut(f"The server did not answer within {timeout_seconds:g} s.") from error
        except httpcore.ConnectError as error:
            raise ConnectionFailed(f"No connection to the server: {_reason(error)}.") from error
        except httpcore.NetworkError as error:
            raise ServerUnreachable("The connection to the server broke.") from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise InvalidHttpResponse(
                "The server sent something that is not HTTP, or closed the connection early."
            ) from error


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
        raise InvalidArgument("An address begins with http:// or https://, for example http://127.0.0.1:8000/v1.")
    if parts.username is not None or parts.password is not None:
        raise InvalidArgument("Leave user and password out of the address; the key has a field of its own.")
    if parts.query or parts.fragment:
        raise InvalidArgument("An address ends with its path: leave out what follows ? or #.")
    if any(character.isspace() or not character.isprintable() for character in url.strip()):
        raise InvalidArgument("An address has no spaces.")
    bracketed_host = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
    netloc = f"{bracketed_host}:{port}" if port is not None else bracketed_host
    return f"{parts.scheme}://{netloc}{parts.path.rstrip('/')}"


class _PinnedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that the guard allows; TLS and the Host header still use the host name."""

    def __init__(self, guard: AddressGuard) -> None:
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
        """Connect to the first address of the host that accepts a connection; the guard has to allow all of them."""
        try:
            entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed("The name of the server cannot be found.") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
        if not addresses or not all(self._guard.allows(address, port) for address in addresses):
            raise AddressBlocked(
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
        """Refuse the connection: the client is for servers in the network."""
        raise AddressBlocked("Unix sockets are not asked.")

    async def sleep(self, seconds: float) -> None:
        """Sleep, as httpcore requires of a backend."""
        await asyncio.sleep(seconds)


async def _limit_size(response: httpcore.Response, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body of a response.

    Raises:
        ResponseTooLarge: when it exceeds `max_bytes`.
    """
    size = 0
    async for part in response.aiter_stream():
        size += len(part)
        if size > max_bytes:
            raise ResponseTooLarge(f"The answer has more than {max_bytes:,} bytes.")
        yield part


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Return the TLS context that all clients share, because reading the certificates takes 50 ms."""
    return httpcore.default_ssl_context()


def _reason(error: Exception) -> str:
    """Return the reason in a few words, without the address that the library's own message contains."""
    return "its certificate is not valid" if "certificate" in str(error) else "it is not there, or refuses connections"
