"""What holds for every request to the API: tokens, CSRF, rate limits, errors, ETags, and reads from other sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers, set_response_etag
from ninja.utils import check_csrf

from apps.api.models import ApiToken
from apps.api.problems import FALLBACKS, UNKNOWN_TOKEN, is_problem, problem
from apps.api.tokens import buckets_of, viewer_of_token
from apps.spec_forms import UNSTORABLE

ROOT = "/api/"
SAFE = ("GET", "HEAD", "OPTIONS")
NO_CSRF = (
    "This request comes from a browser without its CSRF token. Nothing was changed. Send it from a page of this site, "
    "or with a token of yours."
)
EXPOSED = "ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": "If-None-Match, Last-Event-ID",
    "Access-Control-Max-Age": "86400",
}
"""What pages of other sites may ask for: public reads, without tokens and cookies."""


class ApiMiddleware:
    """Identifies the caller, and gives every response of the API the form that the API promises.

    It stands outside of the middleware of sessions and of rate limits. A request with a token is answered as if it had
    no cookies, so a token never acts for whoever happens to be logged in.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request to the API; pass on any other."""
        if not request.path.startswith(ROOT):
            return self.get_response(request)
        if request.method == "OPTIONS":
            return _open_to_other_sites(HttpResponse(status=204, headers=PREFLIGHT))
        request.rate_headers = True  # type: ignore[attr-defined]
        is_head = request.method == "HEAD"
        if is_head:  # Ninja knows GET alone; the server sends no body
            request.method = "GET"
        request.token_refusal = _identify(request)  # type: ignore[attr-defined]
        response = _finish(request, self.get_response(request))
        if is_head:
            request.method = "HEAD"
            response = _without_body(response)
        return _open_to_other_sites(response)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: tuple[Any, ...], parameters: dict[str, Any]
    ) -> HttpResponse | None:
        """Act for the owner of the token. A change from a browser needs the CSRF token of its session."""
        if not request.path.startswith(ROOT):
            return None
        refusal: HttpResponse | None = getattr(request, "token_refusal", None)
        if refusal is not None:  # after the request was counted for its address
            return refusal
        if any(UNSTORABLE.search(part) for part in parameters.values() if isinstance(part, str)):
            return problem(404, FALLBACKS[404])  # nothing can have such a name, so nothing is looked up
        token: ApiToken | None = getattr(request, "api_token", None)
        if token is not None:
            request.user = token.user
        elif request.method not in SAFE and request.user.is_authenticated and check_csrf(request) is not None:
            return problem(403, NO_CSRF)
        return None


def _identify(request: HttpRequest) -> HttpResponse | None:
    """Read the token of a request. Returns the refusal of one that is not valid."""
    header = request.headers.get("Authorization", "")
    if not header:
        return None
    request.COOKIES = {}
    token = viewer_of_token(header)
    if token is None:
        return problem(401, UNKNOWN_TOKEN)
    request.api_token = token  # type: ignore[attr-defined]
    request.rate_buckets = buckets_of(token)  # type: ignore[attr-defined]
    return None


def _finish(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Turn pages about errors into problems, and give answers to reads an ETag."""
    if response.status_code >= 400 and not is_problem(response):
        response = _as_problem(response)
    if request.method == "GET" and response.status_code == 200 and not response.streaming:
        set_response_etag(response)
        response = get_conditional_response(request, etag=response["ETag"], response=response) or response
    if not response.has_header("Cache-Control"):
        response["Cache-Control"] = "no-cache, private"
    patch_vary_headers(response, ["Authorization", "Cookie"])
    return response


def _without_body(response: HttpResponse) -> HttpResponse:
    """The headers of a response alone. What would be sent in pieces is not even begun."""
    headers = dict(response.items())
    status = response.status_code
    if response.streaming:
        response.close()
    return HttpResponse(status=status, headers=headers)


def _as_problem(page: HttpResponse) -> HttpResponse:
    """The problem that a page about an error stands for, with the headers that clients need."""
    sentence = getattr(page, "sentence", "") or FALLBACKS.get(page.status_code, "")
    response = problem(page.status_code, sentence)
    for name in ("Retry-After", "Allow", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"):
        if page.has_header(name):
            response[name] = page[name]
    return response


def _open_to_other_sites(response: HttpResponse) -> HttpResponse:
    """Let pages of other sites read what everybody may read. Browsers send no cookies with such a request."""
    response["Access-Control-Allow-Origin"] = "*"
    response["Access-Control-Expose-Headers"] = EXPOSED
    return response
