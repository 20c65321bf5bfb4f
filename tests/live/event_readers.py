"""Clients of event streams: over HTTP by hand, so that they can go away in the middle of an event; and sockets."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from websockets.sync.client import ClientConnection, connect

from tests.live.processes import Web


class Received(NamedTuple):
    """An event as it came."""

    id: int
    name: str
    data: dict[str, Any]


class EventReader:
    """A response with events that is read line by line."""

    def __init__(self, web: Web, path: str, *, last_id: int | str | None = None, **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=30)
        if last_id is not None:
            headers["Last-Event-ID"] = str(last_id)
        self.connection.request("GET", f"/api/v1/{path}/events", headers=headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.last_id = last_id

    def __iter__(self) -> Iterator[Received]:
        """The events until the stream ends; heartbeats are left out."""
        fields: dict[str, str] = {}
        while line := self.response.readline():
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "id" in fields:
                received = Received(int(fields["id"]), fields["event"], json.loads(fields["data"]))
                self.last_id, fields = received.id, {}
                yield received

    def take(self, count: int) -> list[Received]:
        """The next `count` events."""
        events = iter(self)
        return [next(events) for _ in range(count)]

    def close(self) -> None:
        """Go away, whatever is under way."""
        self.response.close()
        self.connection.close()


@contextmanager
def reading(web: Web, path: str, *, last_id: int | str | None = None, **headers: str) -> Iterator[EventReader]:
    """A reader that goes away after the block."""
    reader = EventReader(web, path, last_id=last_id, **headers)
    try:
        yield reader
    finally:
        reader.close()


def socket_of(
    web: Web, path: str, *, after: int | str = "", origin: str | None = None, **headers: str
) -> ClientConnection:
    """A WebSocket that receives the same events as JSON."""
    query = f"?after={after}" if after != "" else ""
    return connect(
        f"ws://127.0.0.1:{web.port}/api/v1/{path}/events{query}",
        origin=origin,  # type: ignore[arg-type]
        additional_headers=headers,
        compression=None,
        max_size=None,
    )
