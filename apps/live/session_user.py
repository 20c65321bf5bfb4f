"""The person behind a socket or a stream, read from the session or the token at each call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from apps.accounts.models import Viewer

VISITOR = "visitor"
"""The key in the session under which a visitor's key is stored (see `apps.accounts.visitors`)."""


class SessionUser(NamedTuple):
    """The user or an anonymous user, and the key of a visitor without an account (else empty)."""

    viewer: Viewer
    visitor: str


TOKEN = "token "  # noqa: S105 (no secret)
"""Begins the credential of a token; the rest is its primary key. Without it a credential is the key of a session."""


class Tokens(NamedTuple):
    """How the app of tokens finds them."""

    key_of: Callable[[str], str | None]
    """The primary key of the valid token in an `Authorization` header; None if there is none."""
    user_of: Callable[[str], Viewer | None]
    """The user of a token by its primary key; None if it is no longer valid."""


_tokens: list[Tokens] = []


def register_tokens(tokens: Tokens) -> None:
    """Register how tokens are found. Called in `AppConfig.ready`."""
    _tokens[:] = [tokens]


def session_key_of(cookies: Mapping[str, str]) -> str:
    """The key of the session in these cookies; empty if it is none of ours, such as the credential of a token."""
    key = cookies.get(settings.SESSION_COOKIE_NAME, "")
    return key if key.isalnum() and key.isascii() else ""


def credential_of_header(header: str) -> str | None:
    """The credential for an `Authorization` header; None if its token is not valid."""
    keys = [key for tokens in _tokens if (key := tokens.key_of(header)) is not None]
    return f"{TOKEN}{keys[0]}" if keys else None


def person_of(credential: str) -> SessionUser | None:
    """The person of this session, anonymous if it has ended; of a token, None if it is no longer valid."""
    if not credential.startswith(TOKEN):
        return identify(credential)
    user = next((tokens.user_of(credential.removeprefix(TOKEN)) for tokens in _tokens), None)
    return None if user is None else SessionUser(user, "")


def identify(session_key: str) -> SessionUser:
    """The person of this session; an anonymous user if it has ended."""
    if not session_key:
        return SessionUser(AnonymousUser(), "")
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return SessionUser(get_user(request), str(request.session.get(VISITOR, "")))
