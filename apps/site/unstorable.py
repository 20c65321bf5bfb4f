"""Requests with text that a database cannot hold: NUL characters and lone surrogates.

Forms and actions refuse or replace such text with sentences of their own. This is for all that views read beside them,
such as a name in an address: whoever looks it up finds nothing, and the request is bad, not the site.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import DataError
from django.http import HttpRequest, HttpResponse

from apps.episodes.errors import Refusal
from apps.site.views import bad_request
from apps.spec_forms import UNSTORABLE


class UnstorableText(Refusal):
    """A request with text that cannot be stored or looked up."""

    status = 400
    title = "This request has text that cannot be read"


class UnstorableTextMiddleware:
    """Answers 400 where such text reached the database, and ignores such cookies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on a request without the cookies that no browser can have got from this site."""
        request.COOKIES = {name: value for name, value in request.COOKIES.items() if not UNSTORABLE.search(value)}
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer 400 if the database refused text that was sent; any other error is the site's own."""
        if not isinstance(exception, DataError | UnicodeEncodeError) or not _has_unstorable_text(request):
            return None
        sentence = (
            "It has a character that cannot be stored, such as NUL. Nothing was changed. Remove it and try again."
        )
        return bad_request(request, UnstorableText(sentence))


def _has_unstorable_text(request: HttpRequest) -> bool:
    texts = (text for query in (request.GET, request.POST) for _, values in query.lists() for text in values)
    return any(UNSTORABLE.search(str(text)) for text in (request.path, *texts))
