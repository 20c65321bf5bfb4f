"""Who connects: the owner of a token in the header or in the address, or a visitor."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.utils.crypto import salted_hmac

from apps.accounts.models import User, Viewer
from apps.api.models import Scope
from apps.api.tokens import PREFIX, viewer_of_token
from apps.networks import network_of

_ADDRESS_DIGITS = 32


class Refused(Exception):
    """A request that is not answered; the message is for people.

    Args:
        status: the HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True, slots=True)
class Caller:
    """Who plays."""

    user: Viewer
    """An account, or an anonymous user."""
    visitor: str
    """A key for this connection of somebody without an account, else empty."""
    address: str
    """The hashed network of somebody without an account, else empty."""
    name: str
    """Under which sessions are counted."""
    network: str = ""
    """The network of somebody without an account, else empty."""

    @property
    def account(self) -> User | None:
        """The account, if there is one."""
        return self.user if isinstance(self.user, User) else None

    @property
    def session_limit(self) -> int:
        """How many sessions there may be under this name."""
        return settings.OPENENV_SESSIONS_PER_USER if self.account else settings.OPENENV_SESSIONS_PER_ADDRESS


def identify(scope: dict[str, Any], token: str) -> Caller:
    """Who sends a request: a token counts, in the header or in the address; cookies do not.

    Args:
        token: the token in the address, empty if there is none.

    Raises:
        Refused: if the token is not valid, or must not play.
    """
    header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    if not header and not token:
        return _visitor(scope)
    found = viewer_of_token(header or f"Bearer {token}")
    if found is None:
        raise Refused(401, f"This is not a valid token. Make one on your account page; tokens begin with {PREFIX}.")
    if Scope.PLAY not in found.scopes:
        raise Refused(403, f"The token “{found.name}” has no scope {Scope.PLAY.value}. Make one that has it.")
    return Caller(found.user, "", "", f"user {found.user_id}")


def _visitor(scope: dict[str, Any]) -> Caller:
    client = scope.get("client")
    network = network_of(client[0] if client else "")
    address = salted_hmac("address", network).hexdigest()[:_ADDRESS_DIGITS]
    return Caller(AnonymousUser(), secrets.token_hex(16), address, f"from {network}", network)
