"""One request to an OpenAI-compatible server: an answer, or a fault with a sentence and whether to ask again."""

from __future__ import annotations

import asyncio
import codecs
import json
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic
from typing import Any

from pydantic import SecretStr

from gem.agents.endpoint.answer import Answer, Usage, clean
from gem.agents.endpoint.spec import EndpointSpec
from gem.errors import GemError
from gem.net.http import Answer as Response
from gem.net.http import Blocked, Client, HttpError, origin

MOST_BYTES = 16 * 1024 * 1024
"""Of one answer, as it comes: some 60,000 tokens, each in an event of its own."""
MOST_ERROR_BYTES = 64 * 1024
MOST_LINE = 1024 * 1024
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses after which the same request may succeed."""
NOT_JSON = (ValueError, RecursionError)
DONE = "[DONE]"


class Fault(GemError):
    """No usable answer; the message is a sentence without any secret."""

    def __init__(self, sentence: str, *, again: bool = True, wait: float = 0.0, usage: Usage | None = None) -> None:
        super().__init__(sentence)
        self.again = again
        """Whether asking again may help."""
        self.wait = wait
        """Seconds that the server wants to be left alone."""
        self.usage = usage or Usage()
        self.status = 0
        """The HTTP status, 0 if there was none."""


class Hosts:
    """How many requests each server has from this process, and its connections; they belong to one event loop."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._gates: dict[tuple[str, SecretStr | None, int], asyncio.Semaphore] = {}

    def gate(self, url: str, key: SecretStr | None, most: int) -> asyncio.Semaphore:
        """Lets `most` requests to this server through at a time; each key has a limit of its own."""
        return self._gates.setdefault((origin(url), key, most), asyncio.Semaphore(most))


class Server:
    """The server of one agent, with its key."""

    def __init__(self, spec: EndpointSpec, key: SecretStr | None, hosts: Hosts) -> None:
        self._spec = spec
        self._key = key
        self._hosts = hosts
        self.status = 0
        """Of the last answer."""
        self.first_seconds = 0.0
        """Until the first token of the last answer."""

    async def ask(self, body: Mapping[str, Any]) -> Answer:
        """Send a chat completion and read its answer, waiting first until the server has room.

        Raises:
            Fault: if there is no usable answer.
        """
        spec = self._spec
        async with self._hosts.gate(spec.url, self._key, spec.concurrency):
            started = monotonic()
            answer = Answer()
            try:
                return await self._send(body, answer, lambda: self._first(started))
            except HttpError as error:
                raise self._fault(str(error), again=not isinstance(error, Blocked), usage=answer.usage) from error

    def _first(self, started: float) -> None:
        self.first_seconds = self.first_seconds or monotonic() - started

    async def _send(self, body: Mapping[str, Any], answer: Answer, first: Callable[[], None]) -> Answer:
        self.first_seconds, self.status = 0.0, 0
        spec = self._spec
        content = json.dumps(body).encode()
        async with self._hosts.client.send(
            "POST",
            f"{spec.url}/chat/completions",
            self._headers(),
            content,
            seconds=spec.timeout,
            most_bytes=MOST_BYTES,
        ) as response:
            self.status = response.status
            if response.status != 200:
                raise await self._refusal(response)
            streamed = "text/event-stream" in response.headers.get("content-type", "")
            pieces = _events(response.body) if streamed else _whole(response.body)
            try:
                async for piece in pieces:
                    self._add(answer, piece, first)
            except UnicodeDecodeError as error:
                raise self._fault("The server sent bytes that are not UTF-8.", usage=answer.usage) from error
            except NOT_JSON as error:
                raise self._fault(
                    "The server sent something that is no chat completion.", usage=answer.usage
                ) from error
        if not answer.choices:
            raise self._fault("The server ended its answer without a message.", usage=answer.usage)
        if streamed and not answer.finish:
            raise self._fault("The server broke off in the middle of its answer.", usage=answer.usage)
        return answer

    def _add(self, answer: Answer, piece: str, first: Callable[[], None]) -> None:
        if piece.strip() == DONE:
            answer.finish = answer.finish or "stop"
            return
        data = json.loads(piece)
        if not isinstance(data, dict):
            raise ValueError("no object")
        if data.get("error"):
            raise self._fault(f"The server gave up: {self._words(data)}", usage=answer.usage)
        if answer.add(data):
            first()

    def _headers(self) -> dict[str, str]:
        parts = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        parts["User-Agent"] = "gemweb"
        if self._key is not None and self._key.get_secret_value():
            parts["Authorization"] = f"Bearer {self._key.get_secret_value()}"
        return parts

    async def _refusal(self, response: Response) -> Fault:
        """The fault for an answer that is none, with what the server says if it says it as OpenAI's does."""
        status = response.status
        said = b""
        async for part in response.body:
            said += part
            if len(said) > MOST_ERROR_BYTES:
                break
        try:
            data = json.loads(said)
        except NOT_JSON:
            data = None
        words = self._words(data)
        meaning = _MEANINGS.get(status, "It cannot be used" if status < 500 else "It failed")
        if 300 <= status < 400:
            meaning = "It sends elsewhere, and redirects are not followed: give the address that it has now"
        sentence = f"The server answered {status}. {meaning}{f': {words}' if words else '.'}"
        return self._fault(sentence, again=status in AGAIN, wait=_retry_after(response.headers))

    def _words(self, data: Any) -> str:
        """The message of an error object, shortened and without the key; nothing of any other text is shown."""
        error = data.get("error") if isinstance(data, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        if message is None and isinstance(data, dict):
            message = data.get("message", data.get("detail"))
        if not isinstance(message, str):
            return ""
        words = " ".join(clean(message).split())
        words = "".join(character for character in words if character.isprintable())[:300]
        return words.rstrip(".") + "."

    def _fault(self, sentence: str, *, again: bool = True, wait: float = 0.0, usage: Usage | None = None) -> Fault:
        if self._key is not None and self._key.get_secret_value():
            sentence = sentence.replace(self._key.get_secret_value(), "[key]")
        fault = Fault(sentence, again=again, wait=wait, usage=usage)
        fault.status = self.status
        return fault


_MEANINGS = {
    400: "It does not understand the request",
    401: "It does not accept the key",
    403: "The key may not do this",
    404: "There is no such model or address",
    413: "The request is too long for it",
    422: "It does not understand the request",
    429: "It is asked too often",
}


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds from the header of that name, which has a number or a date; 0 without one."""
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


async def _whole(body: AsyncIterator[bytes]) -> AsyncIterator[str]:
    yield (b"".join([part async for part in body])).decode()


async def _events(body: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The data of server-sent events, up to the one that says it is done.

    Raises:
        UnicodeDecodeError: if it is not UTF-8.
        ValueError: if a line does not end.
    """
    decode = codecs.getincrementaldecoder("utf-8")().decode
    rest = ""
    data: list[str] = []
    async for part in body:
        *lines, rest = (rest + decode(part)).replace("\r\n", "\n").split("\n")
        if len(rest) > MOST_LINE:
            raise ValueError("a line without an end")
        for line in lines:
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line.strip() and data:
                event, data = "\n".join(data), []
                yield event
                if event.strip() == DONE:
                    return
    decode(b"", True)
    last = "\n".join([*data, rest[5:].removeprefix(" ")] if rest.startswith("data:") else data)
    if last.strip():
        yield last
