"""The person behind a socket, read from the session at each call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

if TYPE_CHECKING:
    from apps.accounts.models import Viewer

VISITOR = "visitor"
"""The key in the session under which a visitor's key is stored (see `apps.accounts.visitors`)."""


class SessionUser(NamedTuple):
    """The user or an anonymous user, and the key of a visitor without an account (else empty)."""

    viewer: Viewer
    visitor: str


def identify(session_key: str) -> SessionUser:
    """The person of this session; an anonymous user if it has ended."""
    if not session_key:
        return SessionUser(AnonymousUser(), "")
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return SessionUser(get_user(request), str(request.session.get(VISITOR, "")))
