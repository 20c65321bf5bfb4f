"""Request limits: 429 with Retry-After above them, for each account and each address, and none for monitors."""

from __future__ import annotations

import uuid

import pytest
import redis
from django.test import Client
from pytest_django import Settings

from apps.accounts import rate_limit
from apps.accounts.models import User
from tests.networks import fresh_address

pytestmark = pytest.mark.django_db


@pytest.fixture
def address(settings: Settings) -> str:
    """An address in a network that has sent no request yet; one account may send three a minute."""
    settings.REQUESTS_PER_MINUTE = 3
    return fresh_address()


def statuses(client: Client, count: int, path: str = "/account/login/") -> list[int]:
    return [client.get(path).status_code for _ in range(count)]


def test_visitors_at_one_address_share_a_limit_and_are_told_when_to_come_back(address: str) -> None:
    assert statuses(Client(REMOTE_ADDR=address), 12) == [200] * 12
    refused = Client(REMOTE_ADDR=address).get("/account/login/")
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= 20
    assert "Nothing was changed. Try again in" in refused.content.decode()


def test_an_account_has_a_limit_of_its_own(address: str) -> None:
    statuses(Client(REMOTE_ADDR=address), 13)
    client = Client(REMOTE_ADDR=address)
    client.force_login(User.objects.create_user(uuid.uuid4().hex))
    assert statuses(client, 4, "/account/") == [200, 200, 200, 429]


def test_monitors_and_static_files_are_never_refused(address: str) -> None:
    client = Client(REMOTE_ADDR=address)
    assert statuses(client, 20, "/health/live") == [200] * 20
    assert statuses(client, 20, "/health/ready") == [200] * 20
    assert statuses(client, 20, "/static/favicon.svg") == [200] * 20


def test_without_valkey_pages_are_neither_refused_nor_slow(
    address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = redis.Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(rate_limit, "client", lambda: nobody)
    monkeypatch.setattr(rate_limit._silence, "until", 0.0)
    assert statuses(Client(REMOTE_ADDR=address), 20) == [200] * 20
    assert caplog.text.count("Valkey does not answer") == 1  # the other requests did not wait for it
