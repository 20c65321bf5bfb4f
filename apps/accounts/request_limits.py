"""Limits how many requests and handshakes of sockets an account, or the visitors at one address, send in a minute."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from apps.accounts import visitors
from apps.accounts.limits import MINUTE, in_words
from apps.accounts.rate_limit import Level, measure
from apps.live.threads import in_thread
from apps.networks import network_of
from apps.spec_forms import UNSTORABLE

VISITORS_PER_ADDRESS = 4
"""How many visitors at one IP address, such as a classroom, may send as many requests as one account."""
EXEMPT = ("site:live", "site:ready", "site:metrics")
"""Addresses for monitors. Static files are answered before this middleware."""


@dataclass(frozen=True, slots=True)
class RequestBucket:
    """A bucket that requests take from; a size of 0 means no limit."""

    name: str
    size: int
    whose: str
    """Who shares it, as the beginning of a sentence."""


BucketsOfHeader = Callable[[str], list[RequestBucket] | None]


class RequestLimitMiddleware:
    """Answers 429 with `Retry-After` above `REQUESTS_PER_MINUTE`. Without Valkey, nothing is limited.

    Middleware outside of this one may name other buckets in `request.rate_buckets`, each with its size. With
    `request.rate_headers`, the `RateLimit-*` headers of the response say how much is left.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Count the request and pass it on, or refuse it."""
        if request.path in map(reverse, EXEMPT):
            return self.get_response(request)
        bucket, level = _take(_buckets(request))
        if bucket is None or level is None:
            return self.get_response(request)
        response = self.get_response(request) if level.wait <= 0 else _refuse(request, bucket, level)
        if hasattr(request, "rate_headers"):
            response["RateLimit-Limit"] = str(bucket.size)
            response["RateLimit-Remaining"] = str(max(0, math.floor(level.left)))
            response["RateLimit-Reset"] = str(math.ceil(level.seconds_to_full))
        return response


def _buckets(request: HttpRequest) -> list[RequestBucket]:
    """The buckets that a request takes from."""
    buckets: list[RequestBucket] | None = getattr(request, "rate_buckets", None)
    if buckets is not None:
        return buckets
    return [_bucket(request.session.get(SESSION_KEY), visitors.network(request))]


def _bucket(user_id: str | None, network: str) -> RequestBucket:
    """The bucket of an account or, without one, of a network."""
    if user_id is not None:
        return account_bucket(user_id)
    size = settings.REQUESTS_PER_MINUTE * VISITORS_PER_ADDRESS
    return RequestBucket(f"requests:from:{network}", size, "All visitors at one IP address together")


def account_bucket(user_id: object) -> RequestBucket:
    """The bucket of an account."""
    return RequestBucket(f"requests:user:{user_id}", settings.REQUESTS_PER_MINUTE, "One account")


def _take(buckets: list[RequestBucket]) -> tuple[RequestBucket | None, Level | None]:
    """Take from each bucket, and return the one that refuses, or else the one that has the least left."""
    least: tuple[RequestBucket | None, Level | None] = None, None
    for bucket in buckets:
        if bucket.size:
            level = measure(bucket.name, bucket.size, bucket.size / MINUTE)
            if level.wait > 0:
                return bucket, level
            if least[1] is None or level.left < least[1].left:
                least = bucket, level
    return least


def _refuse(request: HttpRequest, bucket: RequestBucket, level: Level) -> HttpResponse:
    sentence = (
        f"{bucket.whose} can send {bucket.size:,} requests a minute, and yours has reached this limit. "
        f"Nothing was changed. Try again in {in_words(level.wait)}."
    )
    refusal = render(request, "429.html", {"reason": sentence}, status=429)
    refusal.sentence = sentence  # type: ignore[attr-defined]
    refusal["Retry-After"] = str(math.ceil(level.wait))
    return refusal


class HandshakeLimit:
    """Counts handshakes of sockets, and requests that Django does not see, and answers them with 429 above the limit.

    The scope of a socket has `cookies`. Pages try again after a while, because they were never connected.

    Args:
        application: what gets the handshakes that are not refused.
        buckets_of_header: returns what a handshake with this `Authorization` header takes from; None if it names
            nobody, so that it counts for its address.
    """

    def __init__(self, application: Callable[..., Awaitable[None]], buckets_of_header: BucketsOfHeader) -> None:
        self.application = application
        self.buckets_of_header = buckets_of_header

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass on the handshake, or refuse it."""
        if not (settings.REQUESTS_PER_MINUTE or settings.API_REQUESTS_PER_MINUTE):
            await self.application(scope, receive, send)
            return
        wait = await in_thread(self._count, scope)
        if wait <= 0:
            await self.application(scope, receive, send)
            return
        await receive()
        retry_after = str(math.ceil(wait)).encode()
        kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
        await send({"type": f"{kind}.start", "status": 429, "headers": [(b"retry-after", retry_after)]})
        await send({"type": f"{kind}.body", "body": b"Too many requests."})

    def _count(self, scope: dict[str, Any]) -> float:
        """Count a handshake. Returns the seconds to wait if there are too many."""
        header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
        client = scope.get("client")
        network = network_of(client[0] if client else "")
        buckets = None
        with suppress(DatabaseError):  # the consumer will say so
            if header:  # as over HTTP, a token counts instead of the cookies
                buckets = self.buckets_of_header(header)
            else:
                buckets = [_bucket(_user_of(scope.get("cookies", {})), network)]
        _, level = _take(buckets or [_bucket(None, network)])
        return level.wait if level is not None else 0.0


def _user_of(cookies: Mapping[str, str]) -> str | None:
    """The account that is logged in with these cookies; None if there is none."""
    session_key = cookies.get(settings.SESSION_COOKIE_NAME, "")
    if not session_key or UNSTORABLE.search(session_key):
        return None
    user_id: str | None = import_module(settings.SESSION_ENGINE).SessionStore(session_key).get(SESSION_KEY)
    return user_id
