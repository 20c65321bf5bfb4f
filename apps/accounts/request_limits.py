"""The middleware that limits how many requests an account, or the visitors at one address, send in a minute."""

from __future__ import annotations

import math
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from apps.accounts.limits import MINUTE, in_words
from apps.accounts.rate_limit import take

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
        size = settings.REQUESTS_PER_MINUTE
        if not size or request.path in map(reverse, EXEMPT):
            return self.get_response(request)
        user_id = request.session.get(SESSION_KEY)
        if user_id is not None:
            bucket = f"requests:user:{user_id}"
        else:
            bucket, size = f"requests:from:{request.META.get('REMOTE_ADDR', '')}", size * VISITORS_PER_ADDRESS
        wait = take(bucket, size, size / MINUTE)
        if wait <= 0:
            return self.get_response(request)
        refusal = render(request, "429.html", {"size": size, "wait": in_words(wait)}, status=429)
        refusal["Retry-After"] = str(math.ceil(wait))
        return refusal
