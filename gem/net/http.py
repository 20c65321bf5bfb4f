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

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

import aiohttp
import certifi
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gem.errors import GemError, InvalidArgument
from gem.net.addresses import AddressGuard, UnrestrictedGuard

__all__ = [
    "AddressBlocked", "AddressGuard", "ConnectionFailed", "GuardedClient", "HttpError", "HttpResponse",
    "InvalidHttpResponse", "RequestTimedOut", "ResponseTooLarge", "ServerUnreachable", "UnrestrictedGuard",
    "check_url", "origin",
]  # fmt: skip

CONNECT_TIMEOUT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30.0
MAX_CONNECTIONS = 512


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


class GuardedClient:
    """An HTTP client with a connection pool, which belongs to one event loop and has to be closed there."""

    def __init__(self, guard: AddressGuard) -> None:
        self.shows_server_errors = guard.shows_server_errors
        """Whether a server's own error message may be shown."""
        self._guard = guard
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

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
        timeouts = aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_TIMEOUT_SECONDS, timeout_seconds))
        request = self._open_session().request(
            method, _parse_url(url), headers=headers, data=content or None, allow_redirects=False, timeout=timeouts
        )
        try:
            async with asyncio.timeout(timeout_seconds), request as response:
                response_headers = {name.lower(): value for name, value in response.headers.items()}
                if response_headers.get("content-encoding", "identity").lower() != "identity":
                    raise InvalidHttpResponse("The server sent a compressed answer, which was not asked for.")
                yield HttpResponse(response.status, response_headers, _read_body(response, max_bytes))
        except TimeoutError as error:
            raise RequestTimedOut(f"The server did not answer within {timeout_seconds:g} s.") from error
        except aiohttp.ClientError as error:
            raise _http_error(error) from error

    def _open_session(self) -> aiohttp.ClientSession:
        """Return the session, which is opened with the first request, because that is sent in the event loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=_GuardedResolver(self._guard),
                socket_factory=functools.partial(_guarded_socket, self._guard),
                use_dns_cache=False,
                ssl=_tls_context(),
                keepalive_timeout=KEEP_ALIVE_SECONDS,
                limit=MAX_CONNECTIONS,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers={"Accept-Encoding": "identity"},
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
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


class _GuardedResolver(AbstractResolver):
    """Resolves a host name to addresses that the guard allows; TLS and the Host header still use the name."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of the host, which are tried one after the other; the guard has to allow all of them."""
        try:
            entries = await asyncio.get_running_loop().getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise ConnectionFailed("The name of the server cannot be found.") from error
        families = {str(entry[4][0]): entry[0] for entry in entries}
        if not families:
            raise ConnectionFailed("The name of the server cannot be found.")
        for address in families:
            _check_address(self._guard, address, port)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST)
            for address, family in families.items()
        ]

    async def close(self) -> None:
        """Close nothing: it keeps no connection to a name server."""


def _guarded_socket(guard: AddressGuard, address: aiohttp.AddrInfoType) -> socket.socket:
    """Make the socket for a connection to this address, if the guard allows it; hosts without a name come here only."""
    family, kind, protocol, _, (host, port, *_) = address
    _check_address(guard, str(host), int(port))
    return socket.socket(family, kind, protocol)


def _check_address(guard: AddressGuard, address: str, port: int) -> None:
    if not guard.allows(address, port):
        raise AddressBlocked(
            "The server does not have a public address, and this site does not allow others. "
            "Whoever runs the site can put its network on the list (PRIVATE_ENDPOINTS)."
        )


@functools.lru_cache(maxsize=1024)
def _parse_url(url: str) -> URL:
    """Return the URL, with an IPv4 address in its usual form if it is written in another one, such as 127.1."""
    parsed = URL(url, encoded=True)
    host = parsed.host or ""
    if host.replace(".", "").isdigit():
        try:
            return parsed.with_host(socket.inet_ntoa(socket.inet_aton(host)))
        except OSError as error:
            raise ConnectionFailed("The name of the server cannot be found.") from error
    return parsed


async def _read_body(response: aiohttp.ClientResponse, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body of a response.

    Raises:
        ResponseTooLarge: when it exceeds `max_bytes`.
        HttpError: if the connection breaks.
    """
    size = 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > max_bytes:
                raise ResponseTooLarge(f"The answer has more than {max_bytes:,} bytes.")
            yield part
    except aiohttp.ClientError as error:
        raise _http_error(error) from error


def _http_error(error: aiohttp.ClientError) -> HttpError:
    """Return the error of ours for one of the library, whose own messages contain addresses."""
    if isinstance(error, aiohttp.ClientConnectorError):
        is_of_certificate = isinstance(error, aiohttp.ClientConnectorCertificateError)
        reason = "its certificate is not valid" if is_of_certificate else "it is not there, or refuses connections"
        return ConnectionFailed(f"No connection to the server: {reason}.")
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
        return InvalidHttpResponse("The server sent something that is not HTTP, or closed the connection early.")
    return ServerUnreachable("The connection to the server broke.")


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Return the TLS context that all clients share, because reading the certificates takes 50 ms."""
    return ssl.create_default_context(cafile=certifi.where())
