"""What can become of a request: a response, or an error that says why there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from gem.errors import GemError


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


class SocketRefused(InvalidHttpResponse):
    """The server answered the request for a WebSocket with a page."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The response of a server."""

    status: int
    headers: Mapping[str, str]
    """The headers by their names in lower case."""
    body: AsyncIterator[bytes]
    """The content in parts; it can be read once."""
