"""The middleware that answers 404 at the addresses of hidden content, whatever view they belong to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from apps.accounts import visitors
from apps.moderation.kinds import named_in
from apps.spec_forms import UNSTORABLE
from apps.visibility import VisibleQuerySet


class HiddenContentMiddleware:
    """Looks up what an address names before its view is called.

    The page's template reads from the request `hidden_reason`, if the person may open hidden content, and `reported`,
    the kind and key for the link that reports the content.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on."""
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: tuple[Any, ...], parameters: dict[str, Any]
    ) -> None:
        """Check what the address names.

        Raises:
            Http404: if it is hidden from this person.
        """
        match = request.resolver_match
        if match is None or match.app_name == "moderation":
            return
        for kind, field, value in named_in(match.app_name, parameters):
            if UNSTORABLE.search(str(value)):
                continue  # nothing is called so
            reason = _reason(request, kind.rows().filter(**{field: value}))
            if reason:
                request.hidden_reason = reason  # type: ignore[attr-defined]
            if field == kind.key and "reported" not in vars(request):
                request.reported = (kind, value)  # type: ignore[attr-defined]


def _reason(request: HttpRequest, rows: VisibleQuerySet[Any]) -> str:
    """Why one of these rows is hidden, for somebody who may open all of them; empty if none is hidden."""
    row = rows.hidden().first()
    if row is None:
        return ""
    if rows.hidden_from(request.user, visitors.known(request)).exists():
        raise Http404("The address may be mistyped, or the page was removed.")
    return str(row.reason_to_hide())
