"""People without an account: a random key in their session says which seats are theirs."""

import secrets

from django.http import HttpRequest

_NAME = "visitor"


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
