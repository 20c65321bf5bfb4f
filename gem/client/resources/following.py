"""The common part of the addresses of episodes, duels, jobs and trainings, and their streams of events."""

from __future__ import annotations

from operator import attrgetter
from urllib.parse import quote

from gem.client.events import ENDINGS, Event, parse
from gem.client.request import Events, Request


def place(kind: str, key: str) -> str:
    """Return the address of one thing of a kind."""
    return f"{kind}/{quote(key, safe='')}"


def events_of(path: str, after: int | None) -> Events[Event]:
    """Return the stream of events of the thing with this address: its history, then what happens, up to its end."""
    return Events(Request("GET", f"{path}/events", bytes), parse, attrgetter("seq"), _ends, after)


def _ends(event: Event) -> bool:
    return event.event in ENDINGS
