"""Signing up, logging in and out."""

from django.http import HttpRequest, HttpResponse


def account(request: HttpRequest) -> HttpResponse:
    """A person's own page."""
    return HttpResponse()


def login(request: HttpRequest) -> HttpResponse:
    """Log in."""
    return HttpResponse()


def logout(request: HttpRequest) -> HttpResponse:
    """Log out."""
    return HttpResponse()


def signup(request: HttpRequest) -> HttpResponse:
    """Make an account."""
    return HttpResponse()


def login_link(request: HttpRequest, token: str) -> HttpResponse:
    """Log in by a one-time link."""
    return HttpResponse()
