"""The requests of the client's logic to its runner, and the answers: the logic reads no socket and never sleeps.

The modules `exchange` and `streams` are generators that yield these effects. `runners` carries them out, once for
threads and once for event loops, so that retries, paging and resumption are written and tested once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")
Progress = Callable[[int, int | None], None]
"""Called with the bytes that were moved so far, and all that there are; None if that is not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server. That of a stream has no content, which follows in parts."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class FileToSend:
    """A file that is sent in a form, piece by piece."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """The other fields of the form."""
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it is sent."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    file: FileToSend | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request and read the whole answer. Gets an `Answer`, or `Unreachable` is raised."""

    message: Message


@dataclass(frozen=True, slots=True)
class Open:
    """Send a request and read the answer's head; its content too, if it is an error. Gets and raises as `Send`."""

    message: Message
    form: Literal["bytes", "events"]


class Read:
    """Read the next part of the stream that was opened last. Gets the part, or None at the end; raises as `Send`."""


READ = Read()


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for so many seconds. Gets None."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Give these items to the caller that iterates. Gets None."""

    items: list[T]


Effect = Send | Open | Read | Pause
Program = Generator[Effect, Any, T]
"""Logic that ends with a `T`."""
Source = Generator[Effect | Emit[T], Any, None]
"""Logic that emits items of `T`."""
