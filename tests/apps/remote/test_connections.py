"""The socket of a remote agent, in this process: it lasts as long as the token that opened it is valid."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db.models import F
from pytest_django import Settings

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.api import operations as tokens
from apps.api.models import ApiToken
from apps.connect.application import Connect
from apps.connect.sockets import NO_TOKEN, Connection
from apps.remote import operations
from apps.remote.models import Remote

pytestmark = pytest.mark.django_db(transaction=True)


async def _elsewhere(scope: dict[str, Any], receive: Any, send: Any) -> None:
    raise AssertionError(scope["path"])


def _agent_and_secret() -> tuple[Agent, str]:
    ada = User.objects.create_user("ada")
    return operations.create(ada, "laptop"), tokens.make_token(ada, "laptop", ["answer"])[1]


def _revoke() -> None:
    token = ApiToken.objects.get()
    assert tokens.revoke_token(token.user, token.pk)


def _expire() -> None:
    ApiToken.objects.update(expires=F("created") - timedelta(days=1))


def _is_connected() -> bool:
    return Remote.objects.get().is_connected


@pytest.mark.parametrize("meanwhile", [_revoke, _expire])
async def test_a_connection_ends_when_its_token_does(settings: Settings, meanwhile: Any) -> None:
    settings.REMOTE_LEASE_SECONDS = 0.15
    agent, secret = await sync_to_async(_agent_and_secret)()
    is_ready, sent = asyncio.Event(), []
    messages = iter([{"type": "websocket.connect"}])

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        await asyncio.Event().wait()  # the agent says nothing
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if "ready" in message.get("text", ""):
            is_ready.set()

    headers = [(b"authorization", f"Bearer {secret}".encode())]
    scope = {"type": "websocket", "path": f"/agents/{agent.slug}/line", "headers": headers}
    async with asyncio.timeout(20):
        connection = asyncio.create_task(Connect(_elsewhere)(scope, receive, send))
        await is_ready.wait()
        await asyncio.sleep(0.3)
        assert not connection.done()
        await sync_to_async(meanwhile)()
        await connection
    assert (sent[-1]["type"], sent[-1]["code"]) == ("websocket.close", NO_TOKEN)
    assert not await sync_to_async(_is_connected)()


async def test_an_answer_to_half_a_surrogate_pair_is_refused() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    connection = Connection(Agent(), "laptop", asyncio.Queue().get, send, lambda: True)
    await connection._take(json.dumps({"episode": "a\ud800", "turn": 1, "action": "x"}))
    refused = json.loads(sent[0]["text"].encode())
    assert (refused["type"], refused["episode"]) == ("refused", "a\ud800")
