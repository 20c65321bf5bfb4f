"""The account of the caller: who they are, what they use, and their tokens."""

from __future__ import annotations

from django.http import HttpRequest
from ninja import Router, Status

from apps.accounts import quotas
from apps.api import operations
from apps.api.answers import known
from apps.api.callers import account, reader, token_of
from apps.api.models import ApiToken
from gem.client import schemas

router = Router(tags=["account"], auth=reader)


@router.get("", response=schemas.Account)
def who_am_i(request: HttpRequest) -> schemas.Account:
    """Who the token or the session belongs to."""
    user, token = account(request), token_of(request)
    return schemas.Account(
        name=user.get_username(),
        staff=user.is_staff,
        default_visibility=known(user.default_visibility),
        agent_visibility=known(user.agent_visibility),
        token=_token(token) if token else None,
    )


@router.get("/quotas", response=schemas.Quotas)
def list_quotas(request: HttpRequest) -> schemas.Quotas:
    """How much of the site you may use, and what you use now."""
    return schemas.Quotas(
        items=[
            schemas.QuotaUse(
                name=use.quota.name,
                title=use.quota.title,
                unit=use.quota.unit,
                used=use.used,
                limit=use.limit,
                at_limit=use.quota.at_limit,
            )
            for use in quotas.uses(account(request))
        ]
    )


@router.get("/tokens", response=schemas.Tokens)
def list_tokens(request: HttpRequest) -> schemas.Tokens:
    """Your tokens, without their secrets. They are made and revoked on the account page."""
    return schemas.Tokens(items=[_token(token) for token in ApiToken.objects.filter(user=account(request))])


@router.delete("/token", response={204: None})
def revoke_this_token(request: HttpRequest) -> Status[None]:
    """Revoke the token of this request, as a program does when it logs out. Nothing happens in a browser."""
    token = token_of(request)
    if token is not None:
        operations.revoke_token(account(request), token.pk)
    return Status(204, None)


def _token(token: ApiToken) -> schemas.Token:
    return schemas.Token(
        id=token.pk,
        name=token.name,
        hint=token.hint,
        scopes=token.scopes,
        created=token.created,
        expires=token.expires,
        last_used=token.last_used,
    )
