"""The connections of a `GuardedClient`, made with aiohttp. Only requests import this, because that takes 0.1 s."""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import aiohttp
import certifi
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gem.net.addresses import AddressGuard
from gem.net.errors import (
    AddressBlocked,
    ConnectionFailed,
    HttpError,
    HttpResponse,
    InvalidHttpResponse,
    RequestTimedOut,
    ResponseTooLarge,
    ServerUnreachable,
    SocketRefused,
)

CONNECT_TIMEOUT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30.0
MAX_CONNECTIONS = 512


class GuardedSession:
    """Connections to addresses that the guard allows, in the event loop in which it was made."""

    def __init__(self, guard: AddressGuard) -> None:
        connector = aiohttp.TCPConnector(
            resolver=_GuardedResolver(guard),
            socket_factory=functools.partial(_guarded_socket, guard),
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

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes, timeout_seconds: float, max_bytes: int
    ) -> AsyncIterator[HttpResponse]:
        """See `GuardedClient.send`."""
        timeouts = aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_TIMEOUT_SECONDS, timeout_seconds))
        request = self._session.request(
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

    async def open_socket(
        self, url: str, headers: Mapping[str, str], timeout_seconds: float, max_bytes: int
    ) -> GuardedSocket:
        """See `GuardedClient.open_socket`."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return GuardedSocket(
                    await self._session.ws_connect(_parse_url(url), headers=headers, max_msg_size=max_bytes)
                )
        except TimeoutError as error:
            raise RequestTimedOut(f"The server did not answer within {timeout_seconds:g} s.") from error
        except aiohttp.WSServerHandshakeError as error:
            raise SocketRefused(f"The server refused the WebSocket with status {error.status}.") from error
        except aiohttp.ClientError as error:
            raise _http_error(error) from error


class GuardedSocket:
    """A WebSocket to an address that the guard allows."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def ask(self, text: str, timeout_seconds: float) -> str:
        """Send a message, and return the next one of the server.

        Raises:
            HttpError: one of its subclasses; the socket cannot be used any more.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._socket.send_str(text)
                message = await self._socket.receive()
        except TimeoutError as error:
            raise RequestTimedOut(f"The server did not answer within {timeout_seconds:g} s.") from error
        except (aiohttp.ClientError, ConnectionError) as error:
            raise ServerUnreachable("The connection to the server broke.") from error
        if message.type is not aiohttp.WSMsgType.TEXT:
            if self._socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
                raise ResponseTooLarge("The answer is too large.")
            raise ServerUnreachable("The server closed the connection.")
        return str(message.data)

    async def close(self) -> None:
        """Close the connection."""
        await self._socket.close()


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
