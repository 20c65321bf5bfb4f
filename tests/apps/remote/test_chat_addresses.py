"""What a program asks for at the address of an episode besides chat completions is refused in the form of OpenAI's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.connect.application import Connect


async def _elsewhere(scope: dict[str, Any], receive: Any, send: Any) -> None:
    raise AssertionError(f"{scope['path']} is left to the pages, which answer in HTML.")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["responses", "completions", "embeddings", "chat", "models/gem", ""])
async def test_what_is_not_there_is_an_error_that_clients_can_read(what: str) -> None:
    headers = [(b"host", b"testserver"), (b"authorization", b"Bearer ep_x")]
    path = f"/e/7kq2m0p4xw9c/v1/{what}"
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "client": ("127.0.0.1", 1)}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await Connect(_elsewhere)(scope, receive, send)
    assert sent[0]["status"] == 404
    error = json.loads(b"".join(message.get("body", b"") for message in sent[1:]))["error"]
    assert "chat/completions" in error["message"]
