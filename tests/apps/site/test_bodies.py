"""A body that is too long is refused before it is on the disk."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator

from gemweb.bodies import BoundedBodies


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of what it got; nothing if its sender has gone."""
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length, more = length + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(length).encode()})


def asked(path: str, *pieces: bytes, length: str | None = None) -> tuple[int, bytes]:
    """Status and body of the answer; 0 if there is none."""

    async def _ask() -> tuple[int, bytes]:
        headers = [] if length is None else [(b"content-length", length.encode())]
        scope = {"type": "http", "path": path, "headers": headers}
        talk = ApplicationCommunicator(BoundedBodies(echo, 100, {"/large/": 1000}), scope)
        for place, piece in enumerate(pieces):
            await talk.send_input({"type": "http.request", "body": piece, "more_body": place < len(pieces) - 1})
        if await talk.receive_nothing(timeout=0.2):
            return 0, b""
        start, body = await talk.receive_output(), await talk.receive_output()
        await talk.wait()
        return start["status"], body["body"]

    return async_to_sync(_ask)()


def test_a_body_within_its_limit_is_handed_on() -> None:
    assert asked("/", b"x" * 60, b"x" * 40, length="100") == (200, b"100")
    assert asked("/large/", b"x" * 1000, length="1000") == (200, b"1000")
    assert asked("/", b"") == (200, b"0")


def test_a_length_above_it_is_refused_at_once() -> None:
    assert asked("/", b"x", length="101")[0] == 413
    assert asked("/large/", b"x", length="1001")[0] == 413
    assert asked("/", b"x", length="many")[0] == 413


def test_chunks_without_a_length_are_counted() -> None:
    assert asked("/", *[b"x" * 30] * 4) == (0, b"")
