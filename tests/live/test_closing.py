"""A socket that is closed sends nothing more, whoever closes it and whatever there is to send."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apps.live.consumers import MAX_MESSAGE_CHARACTERS, MAX_MESSAGES_PER_MINUTE, NOT_ACCEPTED, TOO_BIG, PushConsumer
from apps.live.feed import Closed


class Always:
    """A listener that has an event at once, again and again; after the last one its row is over."""

    def __init__(self, events: int) -> None:
        self.left = events

    async def next(self) -> str:
        if not self.left:
            raise Closed(1000)
        self.left -= 1
        return "event"


class Server:
    """Takes messages as uvicorn does: slowly, and none after the socket was closed."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.code: int | None = None

    async def __call__(self, message: dict[str, Any]) -> None:
        assert self.code is None, "sent after the close"
        self.sent.append(message["type"])
        if message["type"] == "websocket.close":
            self.code = message["code"]
        await asyncio.sleep(0)


def open_socket(events: int) -> tuple[PushConsumer, Server]:
    consumer, server = PushConsumer(), Server()
    consumer.base_send = server
    consumer.pump = asyncio.create_task(consumer._send_all(Always(events)))  # type: ignore[arg-type]
    return consumer, server


@pytest.mark.parametrize("steps", range(5))
async def test_nothing_follows_the_close_that_a_message_brings(steps: int) -> None:
    consumer, server = open_socket(10**6)
    for _ in range(steps):
        await asyncio.sleep(0)
    await consumer.receive("x" * (MAX_MESSAGE_CHARACTERS + 1))
    assert consumer.pump is not None
    await asyncio.wait([consumer.pump])
    assert server.code == TOO_BIG
    assert consumer.pump.cancelled()


async def test_a_socket_is_closed_once() -> None:
    consumer, server = open_socket(3)
    for _ in range(2 * MAX_MESSAGES_PER_MINUTE):
        await consumer.receive("x")
    assert consumer.pump is not None
    await asyncio.wait([consumer.pump])
    assert consumer.pump.cancelled() or consumer.pump.exception() is None
    assert server.code in {1000, NOT_ACCEPTED}
    assert server.sent.count("websocket.close") == 1
