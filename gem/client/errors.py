"""Why a request to a server failed, as classes; each message is a sentence for the person who reads it.

A server answers a refusal with `application/problem+json` (RFC 9457). Its sentence is the one that its pages show, and
the class follows from the status, so that a program can decide without reading the sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gem.errors import GemError

__all__ = [
    "ApiError", "BadRequest", "ClientError", "Conflict", "Forbidden", "NotAuthenticated", "NotFound", "ServerFailure",
    "StreamBroken", "TooLarge", "TooManyRequests", "Unacceptable", "UnexpectedAnswer", "Unreachable", "api_error",
]  # fmt: skip

MAX_QUOTED = 200
"""How many characters of an answer that is not from the API a message quotes."""


class ClientError(GemError):
    """The base class of all errors of the client."""


class Unreachable(ClientError):
    """No answer came: there was no connection, it broke, or it took too long."""


class UnexpectedAnswer(ClientError):
    """The answer is not one of this API: something else may be listening there, or the server is of another version."""


class StreamBroken(ClientError):
    """A stream ended before its end and cannot be continued where it stopped."""


class ApiError(ClientError):
    """The server refused the request, and said why."""

    def __init__(self, status: int, detail: str, problem: Mapping[str, Any] | None = None, retry_after: float = 0.0):
        super().__init__(detail)
        self.status = status
        """The HTTP status."""
        self.detail = detail
        """The server's sentence."""
        self.problem = dict(problem or {})
        """The whole document, with `type`, `title` and what else the server says."""
        self.retry_after = retry_after
        """Seconds after which the server asks to try again; 0 if it does not say."""


class BadRequest(ApiError):
    """The request cannot be understood (400)."""


class NotAuthenticated(ApiError):
    """There is no token, or it has expired or was revoked (401)."""


class Forbidden(ApiError):
    """The token has not the scope, or the account not the right, for this (403)."""


class NotFound(ApiError):
    """There is no such thing, or you may not see it (404)."""


class Conflict(ApiError):
    """It has changed in the meantime, or has ended (409, 410, 412)."""


class TooLarge(ApiError):
    """The body of the request is too large (413)."""


class Unacceptable(ApiError):
    """The request was understood and is not accepted (422)."""

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The errors field by field, if the server sends them."""
        found = self.problem.get("errors")
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


class TooManyRequests(ApiError):
    """The limit of this token is used up for now (429); `retry_after` says for how long."""


class ServerFailure(ApiError):
    """The server failed, or is starting or stopping (5xx); trying again later may help."""


CLASSES: Mapping[int, type[ApiError]] = {
    400: BadRequest, 401: NotAuthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Conflict, 412: Conflict,
    413: TooLarge, 422: Unacceptable, 429: TooManyRequests,
}  # fmt: skip
"""The class of a refusal, by its status; others are an `ApiError`, those from 500 on a `ServerFailure`."""


def api_error(status: int, content: bytes, retry_after: float = 0.0) -> ApiError:
    """Make the error for an answer with a status from 400 on.

    Args:
        content: the body, which is problem+json if the API itself answered.
        retry_after: the seconds of the header `Retry-After`; 0 if there is none.
    """
    kind = CLASSES.get(status, ServerFailure if status >= 500 else ApiError)
    problem = _problem(content)
    detail = next((str(problem[name]) for name in ("detail", "title") if problem.get(name)), "")
    if not detail:
        text = " ".join(content.decode("utf-8", "replace").split())[:MAX_QUOTED]
        about = f": {text}" if text and not text.startswith("<") else ", without a reason"
        detail = f"The server answered with status {status}{about}."
    return kind(status, _with_fields(detail, problem), problem, retry_after)


def _with_fields(detail: str, problem: Mapping[str, Any]) -> str:
    """Return what is wrong with each field, if the server says so, instead of a sentence that points there."""
    errors = problem.get("errors")
    entries = [entry for entry in errors if isinstance(entry, dict)] if isinstance(errors, list) else []
    sentences = [_sentence(str(entry.get("field", "")), str(entry.get("detail", ""))) for entry in entries]
    return " ".join(dict.fromkeys(filter(None, sentences))) or detail


def _sentence(field: str, detail: str) -> str:
    is_named = not field or field in detail or field.rpartition(".")[2] in detail
    return detail if is_named else f"{field}: {detail}"


def _problem(content: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return problem if isinstance(problem, dict) else {}
