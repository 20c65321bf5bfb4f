"""Requests to an OpenAI-compatible server. Each gives a completion or an error that says whether to try again."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any, Literal

from pydantic import SecretStr

from gem.agents.endpoint.amounts import bound_of
from gem.agents.endpoint.completion import Completion, Usage, clean
from gem.agents.endpoint.ledger import Account, Ledger, Reservation
from gem.agents.endpoint.spec import EndpointSpec
from gem.errors import GemError
from gem.net.http import AddressBlocked, ConnectionFailed, GuardedClient, HttpError, HttpResponse, origin

MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""The maximum size of a response; some 60,000 tokens fit if each has an event of its own."""
MAX_ERROR_BYTES = 64 * 1024
"""How much of an error response is read."""
MAX_LINE_CHARS = 1024 * 1024
"""The maximum length of a line of an event stream."""
RETRYABLE_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses after which the same request may succeed."""
UNCERTAIN_STATUSES = frozenset({408, 409, 499})
"""Statuses below 500 after which the server may have answered somebody who no longer waited."""
OVERLOADED_STATUSES = frozenset({503, 529})
"""Statuses from 500 on with which a server refuses a request before it begins with it."""
NOT_JSON = (ValueError, RecursionError)
"""The exceptions that `json.loads` raises."""
_TOO_LONG = re.compile(r"context.?(length|window)|too long|too many tokens", re.IGNORECASE)
"""How servers say that a request is longer than the context of the model."""
DRAIN_SECONDS = 0.1
"""How long the end of a stream is awaited after its last event."""
DONE = "[DONE]"
"""The data of the event that ends a stream."""


Fate = Literal["unsent", "refused", "lost"]
"""What became of a request without a usable response: it was not sent, the server refused it before it used any
tokens, or the server may have used tokens that it did not report."""


class EndpointError(GemError):
    """There is no usable response; the message is a sentence without secrets."""

    def __init__(
        self, sentence: str, *, is_retryable: bool = True, retry_after_seconds: float = 0.0, usage: Usage | None = None
    ) -> None:
        super().__init__(sentence)
        self.is_retryable = is_retryable
        """Whether the same request may succeed later."""
        self.retry_after_seconds = retry_after_seconds
        """The pause that the server asks for, in seconds."""
        self.usage = usage or Usage()
        self.status = 0
        """The HTTP status; 0 if there was no response."""
        self.fate: Fate = "lost"


class EndpointConnections:
    """The HTTP client and the limits on concurrent requests that the agents of an event loop share."""

    def __init__(self, client: GuardedClient) -> None:
        self.client = client
        self._semaphores: dict[tuple[str, SecretStr | None, int], asyncio.Semaphore] = {}

    def semaphore(self, url: str, key: SecretStr | None, max_requests: int) -> asyncio.Semaphore:
        """Return the semaphore that limits concurrent requests to a server; each key has its own."""
        return self._semaphores.setdefault((origin(url), key, max_requests), asyncio.Semaphore(max_requests))


class EndpointClient:
    """Sends the requests of one agent, with its key, to its server."""

    def __init__(
        self,
        spec: EndpointSpec,
        key: SecretStr | None,
        connections: EndpointConnections,
        ledger: Ledger | None = None,
        account: Account | None = None,
    ) -> None:
        self._spec = spec
        self._key = key
        self._connections = connections
        self._ledger = ledger
        self._account = account or Account(-1)
        self.estimated_tokens = 0
        """The tokens that were booked without a count of the server."""
        self.status = 0
        """The HTTP status of the last response."""
        self.first_seconds = 0.0
        """The time to the first token of the last response, in seconds."""

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        """Request a chat completion, once fewer than `EndpointSpec.concurrency` other requests are running.

        With a ledger, the most that the request can use is reserved before it is sent, and booked when it is over.

        Raises:
            EndpointError: if there is no usable response.
            BudgetUsedUp, EpisodeLimitReached: see `Ledger.reserve`.
        """
        spec = self._spec
        async with self._connections.semaphore(spec.url, self._key, spec.concurrency):
            if self._ledger is None:
                return await self._request(body)
            reservation = await self._ledger.reserve(self._account, bound_of(body), spec.prices)
            try:
                completion = await self._request(body)
            except BaseException as error:
                self._close(reservation, error.fate if isinstance(error, EndpointError) else "lost")
                raise
            if completion.is_counted:
                reservation.settle(completion.usage)
            else:
                self._close(reservation, "lost")
            return completion

    def _close(self, reservation: Reservation, fate: Fate) -> None:
        """Book a request whose tokens the server did not report."""
        if fate == "unsent":
            reservation.release()
        elif fate == "refused":
            reservation.settle(Usage())
        else:
            reservation.lose()
            self.estimated_tokens += reservation.bound.tokens

    async def _request(self, body: Mapping[str, Any]) -> Completion:
        started = monotonic()
        completion = Completion()
        try:
            return await self._send(body, completion, lambda: self._note_first_token(started))
        except HttpError as error:
            is_retryable = not isinstance(error, AddressBlocked)
            failure = self._error(str(error), is_retryable=is_retryable, usage=completion.usage)
            failure.fate = "unsent" if isinstance(error, AddressBlocked | ConnectionFailed) else "lost"
            raise failure from error

    def _note_first_token(self, started: float) -> None:
        self.first_seconds = self.first_seconds or monotonic() - started

    async def _send(
        self, body: Mapping[str, Any], completion: Completion, on_first_token: Callable[[], None]
    ) -> Completion:
        self.first_seconds, self.status = 0.0, 0
        spec = self._spec
        content = json.dumps(body).encode()
        async with self._connections.client.send(
            "POST",
            f"{spec.url}/chat/completions",
            self._headers(),
            content,
            timeout_seconds=spec.timeout,
            max_bytes=MAX_RESPONSE_BYTES,
        ) as response:
            self.status = response.status
            if response.status != 200:
                raise await self._status_error(response)
            is_streamed = "text/event-stream" in response.headers.get("content-type", "")
            pieces = _read_events(response.body) if is_streamed else _read_whole(response.body)
            try:
                async for piece in pieces:
                    self._add_event(completion, piece, on_first_token)
            except UnicodeDecodeError as error:
                raise self._error("The server sent bytes that are not UTF-8.", usage=completion.usage) from error
            except NOT_JSON as error:
                sentence = "The response of the server is not a chat completion."
                raise self._error(sentence, usage=completion.usage) from error
        if not completion.choice_count:
            raise self._error("The server ended its answer without a message.", usage=completion.usage)
        if is_streamed and not completion.finish_reason:
            raise self._error("The server broke off in the middle of its answer.", usage=completion.usage)
        return completion

    def _add_event(self, completion: Completion, piece: str, on_first_token: Callable[[], None]) -> None:
        if piece.strip() == DONE:
            completion.finish_reason = completion.finish_reason or "stop"
            return
        data = json.loads(piece)
        if not isinstance(data, dict):
            raise ValueError("no object")
        if data.get("error"):
            message = self._error_message(data)
            raise self._error(f"The server gave up{f': {message}' if message else '.'}", usage=completion.usage)
        if completion.add(data):
            on_first_token()

    def _headers(self) -> dict[str, str]:
        parts = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        parts["User-Agent"] = "gemweb"
        if self._key is not None and self._key.get_secret_value():
            parts["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        return parts

    async def _status_error(self, response: HttpResponse) -> EndpointError:
        """Return the error for a response with another status than 200."""
        status = response.status
        content = b""
        async for part in response.body:
            content += part
            if len(content) > MAX_ERROR_BYTES:
                break
        try:
            data = json.loads(content)
        except NOT_JSON:
            data = None
        message = self._error_message(data)
        meaning = _STATUS_MEANINGS.get(status, "It cannot be used" if status < 500 else "It failed")
        if 300 <= status < 400:
            meaning = "It sends elsewhere, and redirects are not followed: give the address that it has now"
        sentence = f"The server answered {status}. {meaning}{f': {message}' if message else '.'}"
        error = self._error(
            sentence, is_retryable=status in RETRYABLE_STATUSES, retry_after_seconds=_retry_after(response.headers)
        )
        is_refusal = 300 <= status < 500 and status not in UNCERTAIN_STATUSES
        error.fate = "refused" if is_refusal or status in OVERLOADED_STATUSES else "lost"
        return error

    def _error_message(self, data: Any) -> str:
        """Return the message of an error object in OpenAI's form, shortened; empty if there is none.

        Where others may read it, it is only told whether the request is too long: a server can write anything, such as
        what is reachable for it alone, or a part of the key.
        """
        error = data.get("error") if isinstance(data, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        if message is None and isinstance(data, dict):
            message = data.get("message", data.get("detail"))
        if not isinstance(message, str):
            return ""
        if not self._connections.client.shows_server_errors:
            return "The request is longer than the model can read." if _TOO_LONG.search(message) else ""
        message = " ".join(clean(message).split())
        message = "".join(character for character in message if character.isprintable())[:300]
        return message.rstrip(".") + "."

    def _error(
        self, sentence: str, *, is_retryable: bool = True, retry_after_seconds: float = 0.0, usage: Usage | None = None
    ) -> EndpointError:
        if self._key is not None and self._key.get_secret_value():
            sentence = sentence.replace(self._key.get_secret_value(), "[key]")
        error = EndpointError(sentence, is_retryable=is_retryable, retry_after_seconds=retry_after_seconds, usage=usage)
        error.status = self.status
        return error


_STATUS_MEANINGS = {
    400: "It does not understand the request",
    401: "It does not accept the key",
    403: "The key may not do this",
    404: "There is no such model or address",
    413: "The request is too long for it",
    422: "It does not understand the request",
    429: "It gets too many requests",
}


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of the header `Retry-After`, which has a number or a date; 0 without one."""
    value = headers.get("retry-after", "").strip()
    try:
        return min(max(0.0, float(value)), 86_400.0)
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0.0, (at - datetime.now(UTC)).total_seconds()), 86_400.0)


async def _drain(body: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, which is nothing but the end, so that the connection can be used again."""
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in body:
                pass
    except (TimeoutError, HttpError):
        return  # the answer is complete, whatever comes now


async def _read_whole(body: AsyncIterator[bytes]) -> AsyncIterator[str]:
    yield (b"".join([part async for part in body])).decode()


async def _read_events(body: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of server-sent events, up to and including the event `DONE`.

    Raises:
        UnicodeDecodeError: if it is not UTF-8.
        ValueError: if a line is too long.
    """
    decode = codecs.getincrementaldecoder("utf-8")().decode
    rest = ""
    data: list[str] = []
    async for part in body:
        *lines, rest = (rest + decode(part)).replace("\r\n", "\n").split("\n")
        if len(rest) > MAX_LINE_CHARS:
            raise ValueError("a line without an end")
        for line in lines:
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line.strip() and data:
                event, data = "\n".join(data), []
                yield event
                if event.strip() == DONE:
                    await _drain(body)
                    return
    decode(b"", True)
    last = "\n".join([*data, rest[5:].removeprefix(" ")] if rest.startswith("data:") else data)
    if last.strip():
        yield last
