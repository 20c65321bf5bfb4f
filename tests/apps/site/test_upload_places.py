"""Uploads take places. A slow one gives its place to somebody who waits, and a fast one keeps it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from pytest_django import Settings

from apps.accounts.models import User
from gemweb import upload_gate
from gemweb.bodies import Body, BodyRefused
from gemweb.upload_gate import SAFE_BYTES_PER_SECOND, SAFE_SECONDS, UploadGate

SCOPE = {"type": "http", "method": "POST", "path": "/agents/upload/", "headers": []}


@pytest.fixture
def gate(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Body], Any]:
    """A gate with two places, and a function that asks it for a place for the person with this number."""
    settings.UPLOADS_AT_A_TIME = 2
    asking: list[int] = []

    async def call(function: Any, *args: Any) -> Any:
        return User(pk=asking.pop()) if function is upload_gate._check else 0.0

    monkeypatch.setattr(upload_gate, "in_thread", call)
    uploads = UploadGate()

    @asynccontextmanager
    async def admitted(number: int, body: Body) -> AsyncIterator[Body]:
        asking.append(number)
        async with uploads.admit(SCOPE, 10**9, body):
            yield body

    return admitted


async def silence() -> Any:
    """What a client sends that sends nothing more."""
    await asyncio.Event().wait()


def body(bytes_per_second: float, seconds: float = 100.0) -> Body:
    """A body that has come at this speed for so long."""
    made = Body(silence, 10**10, 10**6)
    made._began -= seconds
    made.received_bytes = int(bytes_per_second * seconds)
    return made


def test_the_slowest_gives_its_place_to_somebody_who_waits(gate: Any) -> None:
    async def go() -> None:
        slow, slower = body(SAFE_BYTES_PER_SECOND / 2), body(65_000)
        async with gate(1, slow), gate(2, slower):
            waiting = asyncio.create_task(slower.receive())
            await asyncio.sleep(0)
            async with gate(3, body(0, seconds=0)):
                assert (await waiting)["type"] == "http.disconnect"
                assert slower.refusal is not None
                assert slower.refusal.status == 429
                assert "Nothing was stored." in str(slower.refusal)
                assert slow.refusal is None

    async_to_sync(go)()


def test_a_fast_or_new_or_complete_upload_keeps_its_place(gate: Any) -> None:
    async def go() -> None:
        safe = [body(5e6 / 8), body(0, seconds=SAFE_SECONDS / 2), body(1000)]
        safe[2].is_complete = True
        for one in safe:
            async with gate(1, one), gate(2, body(5e6 / 8)):
                with pytest.raises(BodyRefused, match="Others are uploading now"):
                    async with gate(3, body(0, seconds=0)):
                        pass
                assert one.refusal is None

    async_to_sync(go)()


def test_who_lost_a_place_takes_no_other_one_along(gate: Any) -> None:
    async def go() -> None:
        async with gate(1, body(5e6 / 8)):
            async with gate(2, body(1000)):
                again = gate(3, body(5e6 / 8))
                await again.__aenter__()
            with pytest.raises(BodyRefused, match="Others are uploading now"):
                async with gate(2, body(0, seconds=0)):
                    pass
            await again.__aexit__(None, None, None)

    async_to_sync(go)()
