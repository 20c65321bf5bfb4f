"""Reading tokens: from the header of a request to the token, and to the person whose it is."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.request_limits import RequestBucket, account_bucket
from apps.api.models import ApiToken, TokenQuerySet
from apps.live.session_user import Tokens

PREFIX = "gw_"
"""The beginning of every token, by which people and scanners of leaked secrets recognize them."""
HINT_LENGTH = 8
MAX_HEADER_CHARACTERS = 200
USE_RECORDED_EVERY = timedelta(minutes=1)
"""How often a use of a token is written down at most."""


def digest_of(secret: str) -> str:
    """The digest by which a token is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def viewer_of_token(header_value: str) -> ApiToken | None:
    """The valid token in an `Authorization` header (`Bearer gw_...`), with its user; None if there is none.

    The use is recorded, once a minute at most. Tokens that only connect an agent are not found (`any_token`).
    """
    return _token_in(header_value, ApiToken.objects.valid().of_people())


def any_token(header_value: str) -> ApiToken | None:
    """The same, also of a token that only connects an agent."""
    return _token_in(header_value, ApiToken.objects.valid())


def _token_in(header_value: str, tokens: TokenQuerySet) -> ApiToken | None:
    scheme, _, secret = header_value.partition(" ")
    secret = secret.strip()
    is_token = scheme.lower() == "bearer" and secret.isascii() and secret.startswith(PREFIX)
    if not is_token or len(header_value) > MAX_HEADER_CHARACTERS:
        return None
    token = tokens.select_related("user").filter(digest=digest_of(secret)).first()
    if token is not None:
        _note_use(token)
    return token


def buckets_of(token: ApiToken) -> list[RequestBucket]:
    """What requests with a token take from: its own limit and that of the account."""
    own = RequestBucket(f"requests:token:{token.pk}", settings.API_REQUESTS_PER_MINUTE, "One API token")
    return [own, account_bucket(token.user_id)]


def buckets_of_header(header_value: str) -> list[RequestBucket] | None:
    """What a request with this `Authorization` header takes from; None if its token is not valid."""
    token = any_token(header_value)
    return None if token is None else buckets_of(token)


def _key_of(header_value: str) -> str | None:
    token = viewer_of_token(header_value)
    return None if token is None else str(token.pk)


def _user_of(key: str) -> User | None:
    token = (
        ApiToken.objects.valid().of_people().select_related("user").filter(pk=key).first() if key.isdecimal() else None
    )
    return None if token is None else token.user


TOKENS = Tokens(_key_of, _user_of)
"""How streams of events find tokens, at first and while they last."""


def _note_use(token: ApiToken) -> None:
    now = timezone.now()
    if token.last_used is None or now - token.last_used >= USE_RECORDED_EVERY:
        stale = Q(last_used=None) | Q(last_used__lte=now - USE_RECORDED_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used=now)
        token.last_used = now
