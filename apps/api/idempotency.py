"""Requests with an `Idempotency-Key`: sent again, they change nothing and get the response of the first time.

A PUT or DELETE changes nothing when it is sent again, so nothing is stored for it: it is answered anew.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts.models import User
from apps.api.models import IdempotentRequest
from apps.api.operations import forget_what_exceeds
from apps.episodes.errors import Refusal

HEADER = "Idempotency-Key"
MAX_KEY_CHARACTERS = 80
REPEATABLE = {"GET", "HEAD", "PUT", "DELETE"}
"""Methods that may be repeated without a key."""
GIVEN_UP_AFTER = timedelta(minutes=2)
"""A request without a response after so long was interrupted, so another one with its key is answered anew."""
_NOT_KEPT = "gemweb.answer_is_not_kept"
Run = Callable[..., Any]


class KeyRefused(Refusal):
    """The `Idempotency-Key` cannot be used for this request."""

    status = 422
    title = "This Idempotency-Key cannot be used"


class UnderWay(Refusal):
    """The same request is being answered now."""

    status = 409
    title = "The same request is being answered"
    wait = 1.0
    """Seconds for `Retry-After`: a client that has lost its connection waits for the answer like this."""


def idempotent(run: Run) -> Run:
    """Let a view answer each request with an `Idempotency-Key` once."""

    @functools.wraps(run)
    def answer(request: HttpRequest, *arguments: Any, **parameters: Any) -> Any:
        key = request.headers.get(HEADER)
        if key is None or request.method in REPEATABLE or not isinstance(request.user, User):
            return run(request, *arguments, **parameters)
        return _answer_once(request.user, key, request, functools.partial(run, request, *arguments, **parameters))

    return answer


def remember_no_answer(request: HttpRequest) -> None:
    """Do not store the response to this request, because it has a secret: sent again, the request is answered anew."""
    request.META[_NOT_KEPT] = True


def key_of_job(request: HttpRequest) -> str:
    """The key by which a job that this request submits is found again; empty without an `Idempotency-Key`.

    It has no end, and the same key with another request names another job.
    """
    key = request.headers.get(HEADER, "")
    return hashlib.sha256(f"{_digest_of(request)} {key}".encode()).hexdigest() if key else ""


def _answer_once(user: User, key: str, request: HttpRequest, run: Callable[[], HttpResponse]) -> HttpResponse:
    from apps.api.problems import problem_of  # noqa: PLC0415 (views run inside of the API, which knows this module)

    try:
        row = _begin(user, key, _digest_of(request))
    except Exception as error:  # noqa: BLE001 (`problem_of` raises what is the site's own)
        return problem_of(request, error)
    if row.status is not None:
        response = HttpResponse(bytes(row.body or b""), status=row.status, content_type="application/json")
        response["Idempotent-Replayed"] = "true"
        return response
    try:
        response = run()
    except BaseException:  # whatever stopped it, nothing was answered, so the key must not stay taken
        row.delete()
        raise
    if 200 <= response.status_code < 300 and not response.streaming and _NOT_KEPT not in request.META:
        row.status, row.body = response.status_code, response.content
        row.save(update_fields=["status", "body"])
        forget_what_exceeds(user)
    else:
        row.delete()  # nothing was changed, or the response may not be kept: it may be sent again with the same key
    return response


@transaction.atomic
def _begin(user: User, key: str, digest: str) -> IdempotentRequest:
    """The row of this request, with the response if it was answered before.

    Raises:
        KeyRefused, UnderWay: nothing was begun.
    """
    if not (0 < len(key) <= MAX_KEY_CHARACTERS and key.isascii() and key.isprintable()):
        raise KeyRefused(f"An Idempotency-Key has 1 to {MAX_KEY_CHARACTERS} printable characters. Nothing was changed.")
    row, is_new = IdempotentRequest.objects.select_for_update().get_or_create(
        user=user, key=key, defaults={"digest": digest}
    )
    if is_new:
        return row
    if row.digest != digest:
        raise KeyRefused("This Idempotency-Key was used for another request. Nothing was changed. Use a new one.")
    if row.status is None and timezone.now() - row.created < GIVEN_UP_AFTER:
        raise UnderWay("The same request is being answered now. Try again in some seconds.")
    if row.status is None:
        row.created = timezone.now()
        row.save(update_fields=["created"])
    return row


def _digest_of(request: HttpRequest) -> str:
    """A digest of what the request asks for. A form is told apart by its files' names and sizes."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    if request.content_type == "multipart/form-data":
        sizes = ((name, getattr(file, "name", ""), getattr(file, "size", 0)) for name, file in request.FILES.items())
        files = sorted(sizes)
        digest.update(repr((sorted(request.POST.items()), files)).encode())
    else:
        digest.update(request.body)
    return digest.hexdigest()
