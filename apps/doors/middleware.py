"""Who sends a request to the address of another tool's protocol: the owner of the token that the tool sends its way."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from apps.api.tokens import buckets_of, viewer_of_token

ROOTS = ("/trackio/", "/prime/")
HEADERS = ("X-Trackio-Write-Token",)
"""Headers that hold a token, besides `Authorization`."""


class DoorMiddleware:
    """Reads the token of a request, for which limits count as in the API. Cookies do not count."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request to a door; pass on any other."""
        if request.path.startswith(ROOTS):
            request.COOKIES = {}
            token = viewer_of_token(_header_of(request))
            request.api_token = token  # type: ignore[attr-defined]
            if token is not None:
                request.rate_buckets = buckets_of(token)  # type: ignore[attr-defined]
        return self.get_response(request)


def _header_of(request: HttpRequest) -> str:
    secret = next((request.headers[name] for name in HEADERS if name in request.headers), "")
    return f"Bearer {secret}" if secret else request.headers.get("Authorization", "")
