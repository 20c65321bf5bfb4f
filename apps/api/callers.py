"""Who sends a request to the API: the owner of a token, somebody in a browser, or a guest."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest
from ninja.security.http import HttpAuthBase

from apps.accounts import visitors
from apps.accounts.models import User
from apps.api.models import ApiToken, Scope
from apps.api.problems import NO_ACCOUNT
from apps.episodes.errors import Refusal


class NoAccount(Refusal):
    """The request needs an account, and has none."""

    status = 401
    title = "An account is needed"


class ScopeMissing(Refusal):
    """The token of the request may not do this."""

    status = 403
    title = "This token may not do this"


class Bearer(HttpAuthBase):
    """Requires an account and, of a token, a scope. In a browser the session counts, with a CSRF token."""

    openapi_scheme = "bearer"

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self.scope = scope

    def __call__(self, request: HttpRequest) -> User:
        """The person who sends the request.

        Raises:
            NoAccount: if it comes from a guest.
            ScopeMissing: if it comes with a token that has not the scope.
        """
        if not isinstance(request.user, User):
            raise NoAccount(NO_ACCOUNT)
        token = token_of(request)
        if token is not None and self.scope not in token.scopes:
            raise ScopeMissing(self.missing_from(token))
        return request.user

    def missing_from(self, token: ApiToken) -> str:
        """The sentence for somebody whose token has not the scope."""
        return (
            f"The token “{token.name}” has no scope {self.scope.value}. Nothing was changed. "
            "Make one that has it on your account page."
        )


reader = Bearer(Scope.READ)
player = Bearer(Scope.PLAY)
submitter = Bearer(Scope.SUBMIT)
manager = Bearer(Scope.MANAGE)


def token_of(request: HttpRequest) -> ApiToken | None:
    """The token of a request; None in a browser and of guests."""
    return cast("ApiToken | None", getattr(request, "api_token", None))


def account(request: HttpRequest) -> User:
    """The person who sends a request to an address that requires an account."""
    user = request.user
    if not isinstance(user, User):
        raise NoAccount(NO_ACCOUNT)
    return user


def visitor(request: HttpRequest) -> str:
    """The key of a visitor in a browser; empty for people with an account or a token."""
    return visitors.known(request)
