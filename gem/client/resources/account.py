"""The account that the token belongs to."""

from __future__ import annotations

from typing import Literal, TypeVar
from urllib.parse import quote

from gem.client.effects import Progress
from gem.client.request import NOTHING, Parts, Request, Resource, iterates, sends
from gem.client.schemas import Account, DefaultVisibility, NewReport, Quotas, Tokens
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)
ReportedKind = Literal["episode", "duel", "job", "agent"]


class AccountResource(Resource[R_co]):
    """The owner of the token, what they use, and their tokens."""

    @sends
    def get(self) -> Request[Account]:
        """Return who the token belongs to, with its scopes."""
        return Request("GET", "account", Account)

    @sends
    def quotas(self) -> Request[Quotas]:
        """Return how much of the site the account may use, and what it uses now."""
        return Request("GET", "account/quotas", Quotas)

    @sends
    def set_visibility(
        self, default_visibility: Visibility | None = None, *, agent_visibility: Visibility | None = None
    ) -> Request[Account]:
        """Set the visibility of what the account begins, and of the agents that it adds, from now on."""
        content = DefaultVisibility(default_visibility=default_visibility, agent_visibility=agent_visibility)
        return Request("PUT", "account/visibility", Account, content=content)

    @iterates
    def export(self, *, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of an archive with everything that belongs to the account."""
        return Parts(Request("GET", "account/export.zip", bytes), progress)

    @sends
    def report(self, kind: ReportedKind, key: str, reason: str) -> Request[None]:
        """Report content to the administrators of the site; a training is a `job`."""
        content = NewReport(reason=reason)
        return Request("POST", f"reports/{kind}/{quote(key, safe='')}", NOTHING, content=content, keyed=True)

    @sends
    def tokens(self) -> Request[Tokens]:
        """Return all tokens of the account, without their secrets."""
        return Request("GET", "account/tokens", Tokens)

    @sends
    def revoke_token(self) -> Request[None]:
        """Revoke the token of this client, which then has none."""
        return Request("DELETE", "account/token", NOTHING)
