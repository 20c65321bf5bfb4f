"""The account that the token belongs to."""

from __future__ import annotations

from typing import TypeVar

from gem.client.request import Request, Resource, sends
from gem.client.schemas import Account, Quotas, Tokens

R_co = TypeVar("R_co", covariant=True)
Nothing = type(None)


class AccountResource(Resource[R_co]):
    """Who the token belongs to, what they use, and their tokens."""

    @sends
    def get(self) -> Request[Account]:
        """Return who the token belongs to, with its scopes."""
        return Request("GET", "account", Account)

    @sends
    def quotas(self) -> Request[Quotas]:
        """Return how much of the site the account may use, and what it uses now."""
        return Request("GET", "account/quotas", Quotas)

    @sends
    def tokens(self) -> Request[Tokens]:
        """Return all tokens of the account, without their secrets."""
        return Request("GET", "account/tokens", Tokens)

    @sends
    def revoke_token(self) -> Request[None]:
        """Revoke the token of this client, which then has none."""
        return Request("DELETE", "account/token", Nothing)
