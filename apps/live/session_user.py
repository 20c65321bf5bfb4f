"""The person behind a socket or a stream, read from the session or the token at each call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from apps.accounts.models import Viewer

VISITOR = "visitor"
"""The key in the session under which a visitor's key is stored (see `apps.accounts.visitors`)."""


class SessionUser(NamedTuple):
    """The user or an anonymous user, and the key of a visitor without an account (else empty)."""

    viewer: Viewer
    visitor: str


TOKEN = "token "
"""Begins the credential of a token; the rest is its primary key. Without it a credential is the key of a session."""
_token_users: list[Callable[[str], Viewer | None]] = []


def register_tokens(user_of: Callable[[str], Viewer | None]) -> None:
    """Register the function that finds the user of a token by its primary key. Called in `AppConfig.ready`."""
    _token_users[:] = [user_of]


def identify(credential: str) -> SessionUser | None:
    """The person of this session, anonymous if it has ended; of a token, None if it is no longer valid."""
    if not credential:
        return SessionUser(AnonymousUser(), "")
    if credential.startswith(TOKEN):
        user = next((user_of(credential.removeprefix(TOKEN)) for user_of in _token_users), None)
        return None if user is None else SessionUser(user, "")
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(credential)
    return SessionUser(get_user(request), str(request.session.get(VISITOR, "")))
