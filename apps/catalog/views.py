"""The catalog: every registered environment, and a page for each."""

from django.http import HttpRequest, HttpResponse


def list_environments(request: HttpRequest) -> HttpResponse:
    """Every environment."""
    return HttpResponse()


def environment(request: HttpRequest, env_id: str) -> HttpResponse:
    """One environment."""
    return HttpResponse()
