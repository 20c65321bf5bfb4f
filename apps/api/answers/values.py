"""Values of answers that need no row."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest


def link(request: HttpRequest, path: str) -> str:
    """The whole address of a page."""
    return request.build_absolute_uri(path)


def known(value: str) -> Any:
    """A stored value, for a field whose type lists all of them."""
    return value
