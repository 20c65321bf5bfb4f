"""What a page asks for through htmx."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


def wants_part(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page; when a browser goes back, htmx asks for all of it."""
    asked = HtmxDetails(request)
    return bool(asked) and not asked.history_restore_request
