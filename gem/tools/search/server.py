"""A search server as GEM's: msgpack over HTTP, a query in, passages out."""

from __future__ import annotations

import http.client
import time
from typing import Any
from urllib.parse import urlsplit

from gem.errors import InvalidArgument, MissingDependency, ToolError
from gem.tools.search.passages import Passage, passage_of

MAX_ANSWER = 8 * 1024 * 1024
"""Bytes of an answer that are read."""
CHUNK = 64 * 1024


def check_url(url: str) -> str:
    """`url` if it is one of a server.

    Raises:
        InvalidArgument: if it is not.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgument(f"A search server has an address such as http://localhost:8000/retrieve, not {url!r}.")
    return url


def ask(url: str, query: str, topk: int, timeout: float) -> list[Passage]:
    """The passages that the server finds.

    Args:
        timeout: seconds for the whole exchange.

    Raises:
        ToolError: if it does not answer in time, or with something else than passages.
        MissingDependency: if msgpack is not installed.
    """
    try:
        import msgpack  # type: ignore[import-untyped]  # noqa: PLC0415 (not every engine searches)
    except ImportError as error:
        raise MissingDependency("A search server", ["msgpack"]) from error
    body = msgpack.packb({"query": query, "topk": topk, "return_scores": True})
    answer = _post(url, body, timeout)
    try:
        return _passages(msgpack.unpackb(answer))
    except (ValueError, KeyError, TypeError, AttributeError, msgpack.exceptions.UnpackException) as error:
        raise ToolError("The search server sent something that is no list of passages.") from error


def _post(url: str, body: bytes, timeout: float) -> bytes:
    """The server's answer; a redirect is an error, so that nobody is sent elsewhere."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout)
    deadline = time.monotonic() + timeout
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, {"Content-Type": "application/msgpack"})
        _hurry(connection, deadline)
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ToolError(f"The search server answered with status {response.status}.")
        return _read(connection, response, deadline)
    except TimeoutError as error:
        raise ToolError(f"The search server did not answer within {timeout:g} s.") from error
    except (OSError, http.client.HTTPException) as error:
        raise ToolError(f"The search server cannot be reached: {type(error).__name__}.") from error
    finally:
        connection.close()


def _read(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
    read = bytearray()
    while chunk := response.read1(CHUNK):
        read += chunk
        if len(read) > MAX_ANSWER:
            raise ToolError(f"The search server sent more than {MAX_ANSWER // 1024 // 1024} MiB.")
        _hurry(connection, deadline)
    return bytes(read)


def _hurry(connection: http.client.HTTPConnection, deadline: float) -> None:
    """Let the next wait end at the deadline."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if connection.sock is not None:
        connection.sock.settimeout(left)


def _passages(answer: Any) -> list[Passage]:
    results = answer["result"]
    if results and isinstance(results[0], list):  # a server that takes several queries
        results = results[0]
    return [_passage(result) for result in results]


def _passage(result: Any) -> Passage:
    score = result.get("score")
    return passage_of(result.get("document", result))._replace(score=float(score or 0.0))
