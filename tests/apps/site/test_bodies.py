"""A body that is too long or too slow is refused before it is on the disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator

from gemweb.bodies import Body, BodyRefused, BoundedBodies, SizeLimit


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


def asked(
    path: str,
    *pieces: bytes,
    length: str | None = None,
    content_type: str = "",
    is_whole: bool = True,
    seconds: float = 60.0,
    method: str = "POST",
) -> tuple[int, bytes]:
    """Status and body of the answer to pieces of a body, of which one more follows unless it is whole."""

    async def _ask() -> tuple[int, bytes]:
        headers = [] if length is None else [(b"content-length", length.encode())]
        headers += [(b"content-type", content_type.encode())] if content_type else []
        scope = {"type": "http", "method": method, "path": path, "headers": headers}
        talk = ApplicationCommunicator(BoundedBodies(echo, 100, {"/large/": SizeLimit(1000)}, seconds), scope)
        for place, piece in enumerate(pieces):
            is_last = is_whole and place == len(pieces) - 1
            await talk.send_input({"type": "http.request", "body": piece, "more_body": not is_last})
        start, body = await talk.receive_output(timeout=30), await talk.receive_output()
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
    assert asked("/", b"x", length="9" * 5000)[0] == 413


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_only_what_is_posted_has_a_limit_of_its_own(method: str) -> None:
    assert asked("/large/", b"x", length="101", method=method)[0] == 413
    assert asked("/large/", *[b"x" * 30] * 4, method=method)[0] == 413
    assert asked("/large/", b"x" * 100, length="100", method=method) == (200, b"100")


def test_chunks_without_a_length_are_counted() -> None:
    assert asked("/", *[b"x" * 30] * 4)[0] == 413


def test_a_body_that_never_ends_is_not_waited_for() -> None:
    status, sentence = asked("/", b"x", length="50", is_whole=False, seconds=0.01)
    assert status == 408
    assert b"did not arrive in time" in sentence


@pytest.mark.parametrize("charset", ["utf-7", "unicode_escape", "zlib", "utf-16", "nothing"])
def test_no_other_character_set_is_read(charset: str) -> None:
    assert asked("/", b"x", content_type=f'text/plain; charset="{charset}"')[0] == 415
    assert asked("/", b"x", content_type=f"text/plain; charset*=utf-8''{charset}")[0] == 415
    assert asked("/", b"x", content_type="application/x-www-form-urlencoded; charset=UTF-8")[0] == 200


@pytest.mark.parametrize("charset", ["foo''bar", "foo'en'utf-8", "\0''utf-8", "idna''utf-8", "'"])
def test_a_content_type_that_cannot_be_read_is_an_error_of_the_client(charset: str) -> None:
    assert asked("/", b"x", content_type=f"text/plain; charset*={charset}")[0] in (400, 415)
    assert asked("/", b"x", content_type=f"multipart/form-data; boundary*={charset}")[0] in (200, 400)
    assert asked("/", b"x", content_type="text/plain; charset*=foo''bar")[0] == 400


def test_a_gate_ends_a_body_that_it_has_admitted() -> None:
    class Crowded(SizeLimit):
        @asynccontextmanager
        async def admit(self, scope: Any, length: int | None, body: Body) -> AsyncIterator[None]:
            asyncio.get_running_loop().call_soon(body.refuse, BodyRefused(429, "Others wait."))
            yield

    async def _ask(*pieces: bytes) -> tuple[int, bytes]:
        scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
        talk = ApplicationCommunicator(BoundedBodies(echo, 100, {"/": Crowded(100)}, 60.0), scope)
        for piece in pieces:
            await talk.send_input({"type": "http.request", "body": piece, "more_body": True})
        start, body = await talk.receive_output(timeout=30), await talk.receive_output()
        return start["status"], body["body"]

    assert async_to_sync(_ask)() == (429, b"Others wait.")
    assert async_to_sync(_ask)(b"x", b"x") == (429, b"Others wait.")


def test_what_the_server_reports_after_the_body_has_no_deadline() -> None:
    async def wait_for_the_end(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def _ask() -> int:
        scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
        talk = ApplicationCommunicator(BoundedBodies(wait_for_the_end, 100, {}, 0.01), scope)
        await talk.send_input({"type": "http.request", "body": b"", "more_body": False})
        assert await talk.receive_nothing(timeout=0.05)
        await talk.send_input({"type": "http.disconnect"})
        status: int = (await talk.receive_output())["status"]
        return status

    assert async_to_sync(_ask)() == 200
