"""Visitors, that is people without an account: a random key in their session identifies their seats."""

import ipaddress
import secrets
from collections.abc import Callable

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from apps.accounts.models import User

_SESSION_KEY = "visitor"
_HANDLERS: list[Callable[[User, str], object]] = []


def key(request: HttpRequest) -> str:
    """The visitor's key, 32 hexadecimal digits. The first call creates it and stores it in the session."""
    visitor_key = known(request)
    if not visitor_key:
        visitor_key = secrets.token_hex(16)
        request.session[_SESSION_KEY] = visitor_key
    return visitor_key


def known(request: HttpRequest) -> str:
    """The visitor's key if the session has one, else an empty string. Writes nothing."""
    return str(request.session.get(_SESSION_KEY, ""))


def address(request: HttpRequest) -> str:
    """The IP address of a person without an account, hashed; empty for people with an account.

    Whoever has one IPv6 address has a whole network of them, so the network counts.
    """
    if request.user.is_authenticated:
        return ""
    text = request.META.get("REMOTE_ADDR", "")
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:  # behind a Unix socket
        return salted_hmac("address", text).hexdigest()[:_ADDRESS_DIGITS]
    bits = 32 if ip.version == 4 else _NETWORK_BITS
    network = ipaddress.ip_network(f"{ip}/{bits}", strict=False)
    return salted_hmac("address", str(network)).hexdigest()[:_ADDRESS_DIGITS]


_ADDRESS_DIGITS = 32
_NETWORK_BITS = 64


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
