"""Whom a request to a door comes from, and what is answered if it may not do what it asks for."""

from __future__ import annotations

from django.http import HttpRequest

from apps.accounts.models import User
from apps.api.callers import token_of
from apps.api.models import Scope
from apps.api.tokens import PREFIX

OWN_NAME = "YOUR-NAME"


class DoorRefused(Exception):
    """A request that is not answered; the message is for people.

    Args:
        status: the HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def sender(request: HttpRequest, scope: Scope, username: str = "") -> User:
    """The person whose token a request has.

    Args:
        scope: what the token has to allow.
        username: whose address it is; empty if it names nobody.

    Raises:
        DoorRefused: if there is no valid token, it does not allow this, or it is somebody else's.
    """
    token = token_of(request)
    if token is None:
        raise DoorRefused(
            401,
            f"This needs a valid token of this site, which begins with {PREFIX}. Nothing was stored. Make one on your "
            "account page.",
        )
    if scope not in token.scopes:
        raise DoorRefused(
            403, f"The token “{token.name}” has no scope {scope.value}. Nothing was stored. Make one that has it."
        )
    if username and username != token.user.get_username():
        raise DoorRefused(
            403, f"This token does not belong to {username[:80]}. Nothing was stored. Correct the address."
        )
    user: User = token.user
    return user
