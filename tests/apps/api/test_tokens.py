"""API tokens: what they open, that they end, and that only a digest is stored."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts import personal_data
from apps.accounts.models import User
from apps.api import operations
from apps.api.models import ApiToken, Scope
from apps.api.tokens import USE_RECORDED_EVERY, viewer_of_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(db: None) -> User:
    return User.objects.create_user("ada")


def bearer(secret: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {secret}"}}


def test_a_token_opens_the_account_of_its_owner(owner: User) -> None:
    token, secret = operations.make_token(owner, "laptop", [Scope.PLAY])
    answer = Client().get("/api/v1/account", **bearer(secret))
    assert answer.status_code == 200
    assert answer.json()["name"] == "ada"
    assert answer.json()["token"]["scopes"] == ["read", "play"]
    assert answer.json()["token"]["hint"] == secret[:8]
    assert secret not in str(ApiToken.objects.values_list("digest", "hint", "name", "scopes").get(pk=token.pk))


def test_a_guest_is_asked_for_a_token() -> None:
    answer = Client().get("/api/v1/account")
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header", ["Bearer gw_forged", "Bearer", "Basic YTpi", "Bearer \u00e9", "Bearer " + "x" * 9999]
)
def test_a_forged_token_is_refused_even_where_guests_may_read(header: str) -> None:
    answer = Client().get("/api/v1/environments", headers={"Authorization": header})
    assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json")


def test_an_expired_or_revoked_token_is_refused(owner: User) -> None:
    _, expired = operations.make_token(owner, "old", [], timedelta(seconds=-1))
    token, revoked = operations.make_token(owner, "gone", [])
    assert operations.revoke_token(owner, token.pk)
    assert [Client().get("/api/v1/account", **bearer(each)).status_code for each in (expired, revoked)] == [401, 401]


def test_nobody_revokes_the_token_of_somebody_else(owner: User) -> None:
    token, _ = operations.make_token(owner, "laptop", [])
    assert not operations.revoke_token(User.objects.create_user("else"), token.pk)
    assert ApiToken.objects.filter(pk=token.pk).exists()


def test_closing_an_account_ends_its_tokens(owner: User) -> None:
    _, secret = operations.make_token(owner, "laptop", [])
    personal_data.close(owner)
    assert Client().get("/api/v1/account", **bearer(secret)).status_code == 401
    assert not ApiToken.objects.exists()


def test_the_export_lists_tokens_without_their_secrets(owner: User) -> None:
    _, secret = operations.make_token(owner, "laptop", [Scope.SUBMIT])
    (file,) = (file for part in personal_data.parts() for file in part.export(owner) if file.path == "api_tokens.json")
    text = b"".join(file.parts).decode()
    assert "laptop" in text
    assert "submit" in text
    assert secret not in text
    assert ApiToken.objects.get().digest not in text


def test_a_use_is_recorded_once_a_minute(owner: User) -> None:
    token, secret = operations.make_token(owner, "laptop", [])
    assert token.last_used is None
    viewer_of_token(f"Bearer {secret}")
    token.refresh_from_db()
    first_use = token.last_used
    assert first_use is not None
    viewer_of_token(f"Bearer {secret}")
    token.refresh_from_db()
    assert token.last_used == first_use
    ApiToken.objects.update(last_used=timezone.now() - USE_RECORDED_EVERY)
    viewer_of_token(f"bearer {secret}")
    token.refresh_from_db()
    assert token.last_used is not None
    assert token.last_used >= first_use


def test_a_person_has_only_so_many_tokens(owner: User) -> None:
    for number in range(operations.MAX_TOKENS):
        operations.make_token(owner, f"program {number}", [])
    with pytest.raises(operations.TooManyTokens, match="Revoke one first"):
        operations.make_token(owner, "one more", [])


def test_a_token_never_acts_for_whoever_is_logged_in(owner: User) -> None:
    client = Client()
    client.force_login(User.objects.create_user("else"))
    _, secret = operations.make_token(owner, "laptop", [])
    answer = client.get("/api/v1/account", **bearer(secret))
    assert answer.json()["name"] == "ada"
    assert client.get("/api/v1/account").json()["name"] == "else"
