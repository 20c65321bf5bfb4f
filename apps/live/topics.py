"""What can be watched: an app registers a topic, the hub asks it for events.

A topic names rows that carry a `seq`. An event is what changes on a page that shows them: HTML whose elements are
swapped by id. It is rendered once per process and audience and sent to everybody, so it holds no viewer's data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from apps.accounts.models import Viewer


@dataclass(frozen=True, slots=True)
class Event:
    """The change that raised the row to `seq`, as HTML for one audience."""

    seq: int
    html: str


class Topic(Protocol):
    """The reads behind one kind of watched row. All of them run in a thread with a database connection."""

    def current(self, key: str) -> int | None:
        """The row's `seq` now; None if there is no such row."""
        ...

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Whether this person may listen; asked at connection and again while it lasts."""
        ...

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """Everything after `after`, oldest first; one event may stand for several changes."""
        ...


TOPICS: dict[str, Topic] = {}


def register(name: str, topic: Topic) -> None:
    """Let pages listen at `/live/<name>/<key>/`; called in an app's `AppConfig.ready`."""
    TOPICS[name] = topic
