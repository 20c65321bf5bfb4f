"""The operations on API tokens and on remembered requests: make and revoke a token, forget old requests."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db import connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.api.models import ApiToken, IdempotentRequest, Scope
from apps.api.tokens import HINT_LENGTH, PREFIX, digest_of
from apps.live import end_session
from apps.live.session_user import TOKEN

SECRET_BYTES = 32
MAX_TOKENS = 20
"""Tokens of one person."""
REPEATS_KEPT = timedelta(days=1)
"""How long a request with an `Idempotency-Key` is remembered."""
MAX_REPEATS, MAX_REPEATS_BYTES = 1000, 8 * 2**20
"""The most such requests of one account that are remembered, and the most bytes of their responses."""


class TooManyTokens(Exception):
    """The person has as many tokens as one person may have. The message is a sentence for them."""


@transaction.atomic
def make_token(
    user: User, name: str, scopes: Iterable[str], lifetime: timedelta | None = None, agent: Agent | None = None
) -> tuple[ApiToken, str]:
    """Make a token, and return it with its secret, which is not stored and cannot be shown again.

    Args:
        scopes: what it may do. Every token may read.
        lifetime: how long it is valid; None for ever.
        agent: a remote agent of the person, which is all that it then connects.

    Raises:
        TooManyTokens: if the person has `MAX_TOKENS` tokens.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # so that concurrent calls count each other
    if ApiToken.objects.filter(user=user).count() >= MAX_TOKENS:
        raise TooManyTokens(f"You have {MAX_TOKENS} tokens, and one person can have no more. Revoke one first.")
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    chosen = {Scope.READ.value, *scopes} if agent is None else {Scope.ANSWER.value}
    token = ApiToken.objects.create(
        user=user,
        name=name,
        digest=digest_of(secret),
        hint=secret[:HINT_LENGTH],
        scopes=[scope for scope in Scope.values if scope in chosen],
        expires=None if lifetime is None else timezone.now() + lifetime,
        agent=agent,
    )
    return token, secret


def revoke_token(user: User, token_id: int) -> bool:
    """Delete a token of this person, which ends its use at once, in streams too. Returns whether there was one."""
    deleted, _ = ApiToken.objects.filter(user=user, pk=token_id).delete()
    end_session(f"{TOKEN}{token_id}")
    return bool(deleted)


def forget_repeats() -> None:
    """Delete the requests with an `Idempotency-Key` that are older than `REPEATS_KEPT`."""
    IdempotentRequest.objects.filter(created__lt=timezone.now() - REPEATS_KEPT).delete()


def forget_what_exceeds(user: User) -> None:
    """Delete the oldest remembered requests of this person, so that `MAX_REPEATS` and `MAX_REPEATS_BYTES` hold.

    The newest one stays, whatever its size.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM api_idempotentrequest WHERE id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER newest AS place, sum(coalesce(length(body), 0)) OVER newest AS bytes
                    FROM api_idempotentrequest WHERE user_id = %s WINDOW newest AS (ORDER BY id DESC)
                ) AS remembered
                WHERE place > 1 AND (place > %s OR bytes > %s)
            )
            """,
            [user.pk, MAX_REPEATS, MAX_REPEATS_BYTES],
        )
