"""Streams: the events of a row for programs, as a table of names and fields says (`gem.client.events`).

An app registers a stream beside its topic, and both follow the same hints: `read` gives what the row's pages get as
HTML, as JSON. All of it is read from stored rows, so a reader that comes back after any time misses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from apps.live.feed import Message, Reading

if TYPE_CHECKING:
    from apps.accounts.models import Viewer
    from gem.client.events import Event

MAX_EVENTS = 500
"""Events that are read at once, and kept for a slow reader."""
MAX_CHARACTERS = 256_000
"""Characters after which no further event is read at once."""


class Stream(Protocol):
    """The reads for one kind of row. All of them run in a thread with a database connection.

    Who may see the row and be of an audience is what its topic says (`Topic.shows`, `Topic.allows`).
    """

    def has(self, key: str, kind: str) -> bool:
        """Whether there is such a row among those of this kind; any kind, if it is empty."""
        ...

    def audience_of(self, key: str, viewer: Viewer, visitor: str) -> str:
        """The audience of this person: those of one audience read the same events."""
        ...

    def reach(self, key: str) -> tuple[int, bool]:
        """The `seq` of the last event so far, and whether the row is over, so that none follows."""
        ...

    def read(self, key: str, after: int, audience: str) -> Reading:
        """The events after `after` (`BEGINNING` for all), oldest first, as far as a `Collected` has room."""
        ...


STREAMS: dict[str, Stream] = {}


def register(topic: str, stream: Stream) -> None:
    """Register the stream of the rows of a topic. Apps call this in `AppConfig.ready`."""
    STREAMS[topic] = stream


@dataclass
class Collected:
    """The events of one reading."""

    upto: int
    """The seq up to which they are complete."""
    messages: list[Message] = field(default_factory=list)
    characters: int = 0

    @property
    def is_full(self) -> bool:
        """Whether further events are left for the next reading."""
        return len(self.messages) >= MAX_EVENTS or self.characters >= MAX_CHARACTERS

    def add(self, event: Event) -> None:
        """Add an event as JSON."""
        text = event.model_dump_json()
        self.messages.append(Message(event.seq, text, event.event))
        self.characters += len(text)
        self.upto = event.seq

    def add_until_full(self, events: Iterable[Event]) -> None:
        """Add events while there is room."""
        for event in events:
            if self.is_full:
                return
            self.add(event)

    def reading(self, top: int, *, is_over: bool) -> Reading:
        """What was read of a row that has reached `top`. Unless there was no room, it is complete."""
        return Reading(self.messages, self.upto if self.is_full else top, top, is_over)
