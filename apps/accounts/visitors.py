"""Visitors, that is people without an account: a random key in their session identifies their seats."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from apps.accounts.models import User
from apps.networks import network_of

_SESSION_KEY = "visitor"
_KEY_DIGITS = 32
_HANDLERS: list[Callable[[User, str], object]] = []


def key(request: HttpRequest, made_from: str = "") -> str:
    """The visitor's key, 32 hexadecimal digits. The first call creates it and stores it in the session.

    Args:
        made_from: a secret from which a new key follows; without one, it is random.
    """
    visitor_key = known(request)
    if not visitor_key:
        made = salted_hmac("visitor", made_from).hexdigest()[:_KEY_DIGITS]
        visitor_key = made if made_from else secrets.token_hex(_KEY_DIGITS // 2)
        request.session[_SESSION_KEY] = visitor_key
    return visitor_key


def known(request: HttpRequest) -> str:
    """The visitor's key if the session has one, else an empty string. Writes nothing."""
    return str(request.session.get(_SESSION_KEY, ""))


def network(request: HttpRequest) -> str:
    """The network that a request comes from, for limits by address."""
    return network_of(request.META.get("REMOTE_ADDR", ""))


def share_of(request: HttpRequest) -> str:
    """Whose limits and turns a request shares: those of its account, or of all visitors of its network."""
    return f"user:{request.user.pk}" if request.user.is_authenticated else f"from:{network(request)}"


def address(request: HttpRequest) -> str:
    """The network of a person without an account, hashed; empty for people with an account."""
    if request.user.is_authenticated:
        return ""
    return salted_hmac("address", network(request)).hexdigest()[:_ADDRESS_DIGITS]


_ADDRESS_DIGITS = 32


def when_joining(handler: Callable[[User, str], object]) -> None:
    """Register `handler(user, visitor_key)`, which is called when a visitor logs in.

    Apps call this in `AppConfig.ready`. In this way an account receives what its owner did as a visitor, while this
    app does not depend on episodes.
    """
    _HANDLERS.append(handler)


def join(user: User, visitor: str) -> None:
    """Call the registered handlers, which move the visitor's work to the account that they have just logged in to."""
    if visitor:
        for handler in _HANDLERS:
            handler(user, visitor)
