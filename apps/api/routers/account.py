"""The account of the caller: who they are, what they use, and their tokens."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from ninja import Router, Status

from apps.accounts import quotas
from apps.accounts.limits import check_export
from apps.accounts.operations import set_default_visibility as set_visibility
from apps.accounts.views import archive_of
from apps.api import operations
from apps.api.answers import known
from apps.api.callers import account, manager, reader, token_of
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


@router.put("/visibility", response=schemas.Account, auth=manager)
def set_default_visibility(request: HttpRequest, sent: schemas.DefaultVisibility) -> schemas.Account:
    """Set the visibility that what you begin, and the agents that you add, have from now on."""
    set_visibility(account(request), sent.default_visibility, sent.agent_visibility)
    return who_am_i(request)


@router.get("/export.zip", response=bytes, openapi_extra={"x-media-type": "application/zip"})
def export_account(request: HttpRequest) -> HttpResponseBase:
    """Download everything that belongs to your account as one archive."""
    user = account(request)
    check_export(user)
    return archive_of(request, user)


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
