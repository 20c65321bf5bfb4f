"""A recorder for each test, which has written everything when the test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest
from channels.db import database_sync_to_async

if TYPE_CHECKING:
    from apps.openenv.recording import Recorder


@pytest.fixture(autouse=True)
async def recorder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Recorder]:
    """The recorder of this test."""
    from apps.openenv import local
    from apps.openenv.recording import Recorder

    own = Recorder()
    monkeypatch.setattr(local, "recorder", own)
    yield own
    if request.node.get_closest_marker("django_db"):
        await own.close()
        await database_sync_to_async(lambda: None)()  # closes the connection of the thread that the ORM uses
