"""Request limits: 429 with Retry-After above them, for each account and each address, and none for monitors."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
import redis
from asgiref.sync import async_to_sync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.test import Client
from pytest_django import Settings

from apps.accounts import rate_limit, request_limits
from apps.accounts.models import User
from apps.accounts.request_limits import HandshakeLimit
from apps.api.operations import make_token
from apps.api.tokens import buckets_of_header
from apps.pauses import Pause
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


def handshakes(address: str, count: int, cookies: dict[str, str], header: str = "") -> list[tuple[str, int]]:
    """Type and status of the first answer to each handshake of a socket."""

    async def accept(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

    headers = [(b"authorization", header.encode())] if header else []

    async def ask() -> dict[str, Any]:
        scope = {"type": "websocket", "client": (address, 1), "cookies": cookies, "headers": headers}
        talk = ApplicationCommunicator(HandshakeLimit(accept, buckets_of_header), scope)
        await talk.send_input({"type": "websocket.connect"})
        answer: dict[str, Any] = await talk.receive_output()
        return answer

    answers = [async_to_sync(ask)() for _ in range(count)]
    return [(answer["type"], answer.get("status", 0)) for answer in answers]


ACCEPTED = ("websocket.accept", 0)
REFUSED = ("websocket.http.response.start", 429)


def test_sockets_count_as_requests_of_their_person(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "in_thread", lambda function, *args: sync_to_async(function)(*args))
    assert handshakes(address, 6, {}) == [ACCEPTED] * 6
    assert handshakes(address, 6, {"sessionid": "nobody-has-this\0"}) == [ACCEPTED] * 6
    assert handshakes(address, 1, {"sessionid": "nobody-has-this-one"}) == [REFUSED]
    assert statuses(Client(REMOTE_ADDR=address), 1) == [429], "both are counted together"
    client = Client()
    client.force_login(User.objects.create_user(uuid.uuid4().hex))
    cookies = {"sessionid": client.cookies["sessionid"].value}
    assert handshakes(address, 4, cookies) == [ACCEPTED] * 3 + [REFUSED]


def test_sockets_with_a_token_count_as_requests_of_the_token_and_its_account(
    address: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    monkeypatch.setattr(request_limits, "in_thread", lambda function, *args: sync_to_async(function)(*args))
    person, other = (User.objects.create_user(uuid.uuid4().hex) for _ in range(2))
    one, two = (f"Bearer {make_token(person, 'program', [])[1]}" for _ in range(2))
    client = Client()
    client.force_login(other)
    cookies = {"sessionid": client.cookies["sessionid"].value}
    assert handshakes(address, 3, cookies, one) == [ACCEPTED, ACCEPTED, REFUSED], "the limit of a token"
    assert Client().get("/api/v1/agents", headers={"Authorization": one}).status_code == 429, "sockets count too"
    assert handshakes(address, 2, {}, two) == [ACCEPTED, REFUSED], "the limit of the account, three a minute"
    assert handshakes(address, 3, cookies) == [ACCEPTED] * 3, "nothing was counted for the cookies"
    assert handshakes(address, 13, {}, "Bearer gw_wrong") == [ACCEPTED] * 12 + [REFUSED], "counted for the address"


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
    monkeypatch.setattr(rate_limit, "_pause", Pause(seconds=1000.0))
    assert statuses(Client(REMOTE_ADDR=address), 20) == [200] * 20
    assert caplog.text.count("Valkey does not answer") == 1  # the other requests did not wait for it
