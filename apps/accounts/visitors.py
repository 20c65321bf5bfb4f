"""People without an account: a random key in their session says which seats are theirs."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest

from apps.accounts.models import User

_NAME = "visitor"
_FOLLOWERS: list[Callable[[User, str], object]] = []


def key(request: HttpRequest) -> str:
    """The visitor's key, 32 hexadecimal digits; made, and kept in the session, at the first call."""
    found = known(request)
    if not found:
        found = secrets.token_hex(16)
        request.session[_NAME] = found
    return found


def known(request: HttpRequest) -> str:
    """The visitor's key if they have one, else an empty string; writes nothing."""
    return str(request.session.get(_NAME, ""))


def when_joining(follow: Callable[[User, str], object]) -> None:
    """Have `follow(user, visitor_key)` called when a visitor logs in; said in an app's `AppConfig.ready`.

    So what somebody played without an account goes with them, and this app knows nothing of episodes.
    """
    _FOLLOWERS.append(follow)


def join(user: User, visitor: str) -> None:
    """Give what the visitor did to the account they have just logged in to."""
    if visitor:
        for follow in _FOLLOWERS:
            follow(user, visitor)
