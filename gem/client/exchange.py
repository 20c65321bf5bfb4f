"""One request and its answer: headers, retries, and errors as classes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from gem.client.effects import Answer, Message, Open, Pause, Program, Send
from gem.client.errors import ClientError, UnexpectedAnswer, Unreachable, api_error
from gem.client.request import NOTHING, Query, Request
from gem.client.retries import IDEMPOTENT_METHODS, Retries, retry_after
from gem.errors import InvalidArgument

T = TypeVar("T")
KEY = "Idempotency-Key"
GONE = 404
UNKNOWN_END = frozenset({502, 504})
"""Statuses of a proxy that does not know whether the server has carried out the request."""


def message_of(request: Request[Any]) -> Message:
    """Return the request as it is sent; one that is keyed gets a new key."""
    headers = {"Accept": "application/json, application/problem+json", **request.headers}
    content: bytes | None = None
    if request.content is not None:
        headers.setdefault("Content-Type", "application/json")
        content = _json(request.content)
    if request.keyed:
        headers.setdefault(KEY, uuid.uuid4().hex)
    return Message(request.method, request.path, tuple(parameters(request.query)), headers, content, request.file)


def parameters(query: Query) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a query as text."""
    for name, value in query.items():
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            if one is not None:
                yield name, str(one).lower() if isinstance(one, bool) else str(one)


def ask(request: Request[T], retries: Retries) -> Program[T]:
    """Send the request, again if need be, and return what its answer is read as.

    What a `DELETE` was to delete may be gone when it is sent again: then it has succeeded.

    Raises:
        ClientError: one of its subclasses.
    """
    is_deletion = request.method == "DELETE" and request.answer is NOTHING
    answer = yield from deliver(message_of(request), retries, done_if_gone=is_deletion)
    return read(request, answer)


def read(request: Request[T], answer: Answer) -> T:
    """Return what the answer is read as.

    Raises:
        UnexpectedAnswer: if it is not what the request says.
    """
    try:
        return request.read(answer.content)
    except ValueError as error:
        raise UnexpectedAnswer(
            f"The answer to {request.method} {request.path} is not what this version of the client expects: "
            f"{difference(error)}. Check that the address is that of a gemweb server, and that server and client have "
            "the same version."
        ) from error


def difference(error: ValueError) -> str:
    """Return the first thing in an answer that was not expected, as the end of a sentence."""
    if not isinstance(error, ValidationError):
        return str(error).rstrip(".")
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return "it is not JSON"
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg'].lower()}" if place else first["msg"].lower()


def deliver(
    message: Message, retries: Retries, stream: Literal["", "bytes", "events"] = "", *, done_if_gone: bool = False
) -> Program[Answer]:
    """Send a message until it is answered, and return the answer.

    Args:
        stream: open the answer as a stream of this form instead of reading it.
        done_if_gone: also return the answer 404 if the server may have carried out an earlier attempt.

    Raises:
        Unreachable, ApiError: the last failure, when no further attempt is allowed.
        UnexpectedAnswer: for a redirect.
    """
    repeatable = message.method in IDEMPOTENT_METHODS or KEY in message.headers
    attempt = 0
    may_be_done = False
    while True:
        attempt += 1
        failure: ClientError
        try:
            answer: Answer = yield Open(message, stream) if stream else Send(message)
        except Unreachable as error:
            failure, pause, may_be_done = error, retries.after(attempt, repeatable=repeatable), True
        else:
            if answer.status < 300 or (answer.status == GONE and done_if_gone and may_be_done):
                return answer
            if answer.status < 400:
                raise _redirected(answer)
            may_be_done = may_be_done or answer.status in UNKNOWN_END
            asked = retry_after(answer.headers)
            failure = api_error(answer.status, answer.content, asked)
            pause = retries.after(attempt, status=answer.status, asked=asked, repeatable=repeatable)
        if pause is None:
            raise failure
        yield Pause(pause)


def with_headers(message: Message, **headers: str) -> Message:
    """Return the message with further headers; an underscore in a name stands for a hyphen."""
    return replace(message, headers={**message.headers, **{k.replace("_", "-"): v for k, v in headers.items()}})


def _json(content: BaseModel | Mapping[str, Any]) -> bytes:
    """Return the content as JSON in ASCII, in which any text can be sent.

    Raises:
        InvalidArgument: if it is not plain data.
    """
    data = content.model_dump(mode="json", exclude_unset=True) if isinstance(content, BaseModel) else content
    try:
        return json.dumps(data, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"This cannot be sent as JSON: {error}.") from error


def _redirected(answer: Answer) -> UnexpectedAnswer:
    target = answer.headers.get("location", "another address")
    return UnexpectedAnswer(
        f"The server sends the request on to {target}, which the client does not follow, so that your token goes to no "
        "other server. Use that address instead, if you trust it."
    )
