"""Errors of the API as `application/problem+json` (RFC 9457). Their sentences are those of the pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from http.client import responses
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as FormError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import RawPostDataException
from ninja.errors import HttpError

from apps.accounts.limits import TooOften
from apps.agents.operations import TooManyAgents
from apps.episodes.errors import Refusal
from apps.jobs.errors import JobRefusal, NotYours
from gem.client.schemas import FieldProblem, Problem
from gem.errors import GemError

CONTENT_TYPE = "application/problem+json"
INVALID = "The request is not valid. Nothing was changed. Correct what is listed under errors."
NO_ACCOUNT = "This needs an account. Send a token as `Authorization: Bearer gw_...`, or log in."
UNKNOWN_TOKEN = "This token does not exist, has expired or was revoked. Make another one on your account page."  # noqa: S105
FALLBACKS = {
    400: "This request cannot be read. Nothing was changed.",
    403: "You may not do this. Nothing was changed.",
    404: "The address may be mistyped, or what it names was deleted.",
    405: "This address does not answer requests with this method. Nothing was changed.",
    413: "This request is too large for this address. Nothing was stored.",
    429: "Too many requests. Nothing was changed.",
    500: "Something went wrong on our side; the error is in the log. Nothing that was saved before is lost.",
    503: "The database of this site cannot be reached at the moment. What was sent may not be saved. Try again.",
    507: "The disk of this site is full. Nothing was changed. Tell an administrator.",
}
"""Sentences for errors that come without one of their own."""


class Invalid(Exception):
    """A request with invalid fields, each with a sentence."""

    def __init__(self, errors: Iterable[tuple[str, str]]) -> None:
        self.errors = [FieldProblem(field=field, detail=detail) for field, detail in errors]
        super().__init__(INVALID)


def problem(
    status: int,
    detail: str,
    *,
    title: str = "",
    errors: Iterable[FieldProblem] = (),
    suggestion: str = "",
    wait: float = 0.0,
) -> HttpResponse:
    """A response with an error; `wait` are the seconds for `Retry-After`."""
    data = Problem(
        title=title or responses.get(status, "Error"),
        status=status,
        detail=detail or FALLBACKS.get(status, ""),
        errors=list(errors),
        suggestion=suggestion,
    )
    response = HttpResponse(data.model_dump_json(exclude_defaults=False), status=status, content_type=CONTENT_TYPE)
    if wait > 0:
        response["Retry-After"] = str(math.ceil(wait))
    if status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="gemweb"'
    return response


def is_problem(response: HttpResponse) -> bool:
    """Whether a response is a problem already."""
    return response.get("Content-Type", "").startswith(CONTENT_TYPE)


def problem_of(request: HttpRequest, error: Exception) -> HttpResponse:
    """The response to a request that raised this error.

    Raises:
        Exception: the error itself, if it is the site's own.
    """
    respond = next((_RESPONSES[kind] for kind in type(error).__mro__ if kind in _RESPONSES), None)
    if respond is None:
        raise error
    return respond(error)


def _refused(error: Refusal) -> HttpResponse:
    """What the pages refuse to do, with their title."""
    suggestion, wait = getattr(error, "suggestion", ""), getattr(error, "wait", 0.0)
    return problem(error.status, str(error), title=error.title, suggestion=suggestion, wait=wait)


def _unfit(error: Exception) -> HttpResponse:
    """What cannot be done with these values, although each of them is valid."""
    return problem(422, str(error), errors=[FieldProblem(field="", detail=str(error))])


def _unfit_job(error: JobRefusal) -> HttpResponse:
    """Why a job cannot be, at the fields that have to change."""
    return problem(422, str(error), errors=[FieldProblem(field=each.field, detail=str(each)) for each in error.all])


def _of_ninja(error: HttpError) -> HttpResponse:
    """An error that Ninja words itself, or one of ours that it has wrapped while it read the body."""
    cause = error.__cause__
    return (
        _refused(cause)
        if isinstance(cause, Refusal)
        else problem(error.status_code, FALLBACKS.get(error.status_code, str(error)))
    )


def _misfilled(error: FormError) -> HttpResponse:
    return problem(422, INVALID, errors=[FieldProblem(field="", detail=sentence) for sentence in error.messages])


_RESPONSES: dict[type[BaseException], Callable[[Any], HttpResponse]] = {
    Invalid: lambda error: problem(422, str(error), errors=error.errors),
    Refusal: _refused,
    TooOften: lambda error: problem(429, str(error), wait=error.wait),
    NotYours: lambda error: problem(403, str(error)),
    PermissionDenied: lambda error: problem(403, str(error)),
    JobRefusal: _unfit_job,
    TooManyAgents: _unfit,
    GemError: _unfit,
    FormError: _misfilled,
    RequestDataTooBig: lambda _: problem(413, FALLBACKS[413]),
    MultiPartParserError: lambda _: problem(400, FALLBACKS[400]),
    RawPostDataException: lambda _: problem(415, "The body of this request has to be JSON. Nothing was changed."),
    Http404: lambda error: problem(404, _sentence_of(error)),
    HttpError: _of_ninja,
}
"""How each kind of error is answered; a kind without an entry is answered as the one that it extends."""


def _sentence_of(error: Http404) -> str:
    message: Any = error.args[0] if error.args else ""
    return message if isinstance(message, str) else ""
