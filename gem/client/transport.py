"""The common part of both runners: the address, the token and the settings of httpx2, and the requests."""

from __future__ import annotations

import functools
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import httpx2

from gem.client.effects import Message, Progress
from gem.client.errors import Unreachable
from gem.client.retries import Retries
from gem.errors import UsageError
from gem.version import __version__

CONNECT_SECONDS = 10.0
TIMEOUT_SECONDS = 60.0
"""How long the client waits for a connection, and for each part of an answer."""
API_PATH = "/api/v1/"


class Runner:
    """The common part of both runners: the address, the token and the settings."""

    def __init__(self, url: str, token: str, retries: Retries | None, timeout_seconds: float) -> None:
        self.url = url.rstrip("/")
        """The address of the server, without the path of the API."""
        self.retries = retries or Retries()
        self._settings: dict[str, Any] = {
            "base_url": self.url + API_PATH,
            "headers": headers(token),
            "timeout": httpx2.Timeout(timeout_seconds, connect=min(CONNECT_SECONDS, timeout_seconds)),
            "follow_redirects": False,
            "verify": _tls_context(),
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.url}>"

    def client_beside_api(self) -> httpx2.Client:
        """Make a client for addresses of the server that are not those of its API."""
        return httpx2.Client(**{**self._settings, "base_url": self.url})

    @contextmanager
    def named_failures(self) -> Iterator[None]:
        """Report what httpx2 raises as `Unreachable`."""
        try:
            yield
        except httpx2.TimeoutException as error:
            raise Unreachable(
                f"{self.url} did not answer in time. It may be busy or down; try again, or later."
            ) from error
        except (httpx2.ConnectError, httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            reason = _reason(error)
            raise Unreachable(f"No connection to {self.url}: {reason}. Check the address and the network.") from error
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise Unreachable(f"The connection to {self.url} broke before the answer was complete.") from error


def headers(token: str) -> Mapping[str, str]:
    """Return the headers that every request has."""
    agent = {"User-Agent": f"gemweb/{__version__} python-httpx2/{httpx2.__version__}"}
    return {**agent, "Authorization": f"Bearer {token}"} if token else agent


@contextmanager
def sent_form(message: Message) -> Iterator[dict[str, Any]]:
    """Yield what httpx2 builds a request from; a file is open in the block.

    Raises:
        UsageError: if a file cannot be read.
    """
    form: dict[str, Any] = {"params": message.query, "headers": dict(message.headers)}
    if message.file is None:
        yield {**form, "content": message.content}
        return
    path = message.file.path
    try:
        file = path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        counted = _CountedFile(file, message.file.progress)
        yield {**form, "files": {"file": (path.name, counted)}, "data": dict(message.file.fields)}


class _CountedFile:
    """A file that says how much of it was read."""

    def __init__(self, file: BinaryIO, progress: Progress | None) -> None:
        self._file, self._progress = file, progress
        self._total = os.fstat(file.fileno()).st_size

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(size)
        if self._progress is not None:
            self._progress(self._file.tell(), self._total)
        return part

    def fileno(self) -> int:
        return self._file.fileno()

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Return the TLS context that all clients share, because reading the certificates takes long."""
    return httpx2.create_ssl_context()


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return "an address begins with http:// or https://"
    return "its certificate is not valid" if "certificate" in str(error).lower() else "it is not there, or refuses"
