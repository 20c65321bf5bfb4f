"""Topics: an app registers a topic, and the hub reads events from it.

A topic stands for rows that have a `seq`. An event is a change of a page: HTML whose elements are swapped by id. It is
rendered once per process and audience and sent to all listeners, so it must not contain data of a single viewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apps.accounts.models import Viewer


@dataclass(frozen=True, slots=True)
class Event:
    """The change that raised the `seq` of the row to this value, as HTML for one audience."""

    seq: int
    html: str


class Topic(Protocol):
    """The reads for one kind of row. All of them run in a thread with a database connection."""

    def shows(self, key: str, viewer: Viewer, visitor: str) -> bool:
        """Whether there is such a row for this person. What they may not see is not there."""
        ...

    def current(self, key: str) -> int | None:
        """The present `seq` of the row; None if there is no such row."""
        ...

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Whether this person may listen to a row that they may see, as this audience.

        Checked, like `shows`, at the connection and regularly afterwards.
        """
        ...

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """The events after `after`, oldest first; one event may stand for several changes."""
        ...


TOPICS: dict[str, Topic] = {}
PACES: dict[str, float] = {}
"""By the name of a topic, the least seconds between two messages to a page."""


def register(name: str, topic: Topic, *, pace: float = 0.0) -> None:
    """Register a topic, so that pages can listen at `/live/<name>/<key>/`. Apps call this in `AppConfig.ready`.

    Args:
        pace: the least seconds between two messages to a page, for a topic whose messages are costly to draw. A browser
            cannot hold back what a socket sends, so a page that draws slower than it is sent to falls ever further
            behind. One event of such a topic should stand for all changes since the last one.
    """
    TOPICS[name] = topic
    PACES[name] = pace
