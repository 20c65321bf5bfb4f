"""Limits how many requests and handshakes of sockets an account, or the visitors at one address, send in a minute."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
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
from apps.accounts.rate_limit import take
from apps.live.threads import in_thread
from apps.networks import network_of
from apps.spec_forms import UNSTORABLE

VISITORS_PER_ADDRESS = 4
"""How many visitors at one IP address, such as a classroom, may send as many requests as one account."""
EXEMPT = ("site:live", "site:ready", "site:metrics")
"""Addresses for monitors. Static files are answered before this middleware."""


class RequestLimitMiddleware:
    """Answers 429 with `Retry-After` above `REQUESTS_PER_MINUTE`. Without Valkey, nothing is limited."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Count the request and pass it on, or refuse it."""
        if not settings.REQUESTS_PER_MINUTE or request.path in map(reverse, EXEMPT):
            return self.get_response(request)
        bucket, size = _bucket(request.session.get(SESSION_KEY), visitors.network(request))
        wait = take(bucket, size, size / MINUTE)
        if wait <= 0:
            return self.get_response(request)
        refusal = render(request, "429.html", {"size": size, "wait": in_words(wait)}, status=429)
        refusal["Retry-After"] = str(math.ceil(wait))
        return refusal


class HandshakeLimit:
    """Counts handshakes of sockets as requests, and answers them with 429 above the limit.

    The scope has `cookies`. Pages try again after a while, because they were never connected.
    """

    def __init__(self, application: Callable[..., Awaitable[None]]) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass on the handshake, or refuse it."""
        if not settings.REQUESTS_PER_MINUTE:
            await self.application(scope, receive, send)
            return
        session_key = scope["cookies"].get(settings.SESSION_COOKIE_NAME, "")
        client = scope.get("client")
        wait = await in_thread(_count_handshake, session_key, network_of(client[0] if client else ""))
        if wait <= 0:
            await self.application(scope, receive, send)
            return
        await receive()
        retry_after = str(math.ceil(wait)).encode()
        await send({
            "type": "websocket.http.response.start", "status": 429, "headers": [(b"retry-after", retry_after)]
        })  # fmt: skip
        await send({"type": "websocket.http.response.body", "body": b"Too many requests."})


def _count_handshake(session_key: str, network: str) -> float:
    """Count a handshake. Returns the seconds to wait if there are too many."""
    user_id = None
    if session_key and not UNSTORABLE.search(session_key):
        with suppress(DatabaseError):  # the consumer will say so
            user_id = import_module(settings.SESSION_ENGINE).SessionStore(session_key).get(SESSION_KEY)
    bucket, size = _bucket(user_id, network)
    return take(bucket, size, size / MINUTE)


def _bucket(user_id: str | None, network: str) -> tuple[str, int]:
    """The bucket of an account or, without one, of a network; and the requests that it has in a minute."""
    size: int = settings.REQUESTS_PER_MINUTE
    if user_id is not None:
        return f"requests:user:{user_id}", size
    return f"requests:from:{network}", size * VISITORS_PER_ADDRESS
