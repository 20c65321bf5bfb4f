"""Who sits behind a socket, read from the session each time it is asked."""

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
"""Where the session keeps a visitor's key (see `apps.accounts.visitors`)."""


class SessionUser(NamedTuple):
    """A user or nobody, and the key of somebody who plays without an account (empty if there is none)."""

    viewer: Viewer
    visitor: str


def identify(session_key: str) -> SessionUser:
    """The person whose session this is now; nobody if it has ended."""
    if not session_key:
        return SessionUser(AnonymousUser(), "")
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    return SessionUser(get_user(request), str(request.session.get(VISITOR, "")))
