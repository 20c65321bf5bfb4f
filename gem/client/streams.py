"""Lists and streams: pages, JSON lines, events and files, read piece by piece in constant memory.

What breaks on the way is continued where it stopped if the server can do that; otherwise `StreamBroken` says how far it
came. Nothing is given twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from gem.client.effects import READ, Answer, Emit, Message, Pause, Source
from gem.client.errors import StreamBroken, UnexpectedAnswer, Unreachable
from gem.client.exchange import ask, deliver, difference, message_of, with_headers
from gem.client.request import Events, Lines, Pages, Parts, Request, Several, reader
from gem.client.retries import Retries

T = TypeVar("T")
OVER = 204
"""The status of a stream of which the client has all events already."""
FOLLOWING_PATIENCE = 4
"""How many times as often a broken stream of events is opened again as another request is repeated."""


def items_of(several: Several[T], retries: Retries) -> Source[T]:
    """Return the logic that emits the items of a list or stream."""
    if isinstance(several, Pages):
        return pages(several, retries)
    if isinstance(several, Lines):
        return lines(several, retries)
    return events(several, retries) if isinstance(several, Events) else parts(several, retries)


# ------------------------------------------------------------------ pages


def pages(listed: Pages[T], retries: Retries) -> Source[T]:
    """Emit the items of all pages, each page fetched when the one before it is used up."""
    request, left = listed.request, listed.most
    while left is None or left > 0:
        page = yield from ask(request, retries)
        items = page.items if left is None else page.items[:left]
        yield Emit(items)
        left = None if left is None else left - len(items)
        if page.next is None:
            return
        request = replace(request, query={**request.query, "cursor": page.next})


# ------------------------------------------------------------------ JSON lines


def lines(stream: Lines[T], retries: Retries) -> Source[T]:
    """Emit the objects of a stream of JSON lines, which is continued behind the last one where it breaks."""
    read = reader(stream.request.answer).validate_json
    request, number, failures = stream.request, 0, 0
    while True:
        message = with_headers(message_of(request), Accept="application/jsonl, application/problem+json")
        yield from deliver(message, retries, "bytes")
        splitter = LineSplitter()
        try:
            while True:
                part: bytes | None = yield READ
                whole = splitter.rest() if part is None else splitter.add(part)
                items = _read_all(read, whole, request, number)
                if items:
                    yield Emit(items)
                    number, failures = number + len(items), 0
                    if stream.resume is not None:
                        request = replace(request, query={**request.query, **stream.resume(items[-1])})
                if part is None:
                    return
        except Unreachable as error:
            failures += 1
            pause = retries.after(failures, repeatable=True)
            if pause is None or (number and stream.resume is None):
                raise StreamBroken(
                    f"The stream broke after {number:,} lines. What was read is complete; ask again for the rest. "
                    f"({error})"
                ) from error
        yield Pause(pause)


class LineSplitter:
    """Splits parts of a stream into lines, which may end anywhere."""

    def __init__(self) -> None:
        self._open: list[bytes] = []

    def add(self, part: bytes) -> list[bytes]:
        """Return the lines that this part completes."""
        first, *others = part.split(b"\n")
        if not others:
            self._open.append(part)
            return []
        whole = [b"".join([*self._open, first]), *others[:-1]]
        self._open = [others[-1]]
        return whole

    def rest(self) -> list[bytes]:
        """Return the last line, if the stream ended without a newline."""
        return [b"".join(self._open)]


def _read_all(read: Any, whole: list[bytes], request: Request[T], number: int) -> list[T]:
    try:
        return [read(line) for line in whole if line.strip()]
    except ValueError as error:
        raise UnexpectedAnswer(
            f"After line {number:,} of {request.path} comes one that is not what this version of the client expects: "
            f"{difference(error)}. Check that server and client have the same version."
        ) from error


# ------------------------------------------------------------------ events


def events(stream: Events[T], retries: Retries) -> Source[T]:
    """Emit the events of a stream up to the one that ends it. Where it breaks, it continues after the last event.

    A server that restarts is waited for four times as often as with other requests. It may say how long to wait before
    a stream that it has ended is opened again.
    """
    patient = replace(retries, tries=retries.tries * FOLLOWING_PATIENCE)
    last, failures, asked = stream.after, 0, 0.0
    while True:
        answer: Answer = yield from deliver(_subscription(stream, last), patient, "events")
        if answer.status == OVER:
            return
        try:
            while (sent := (yield READ)) is not None:
                asked = asked if sent.retry is None else sent.retry / 1000
                if sent.data:
                    item = _event(stream, sent.data)
                    last, failures = stream.place(item), 0
                    yield Emit([item])
                    if stream.is_last(item):
                        return
            pause = max(asked, patient.pause(failures + 1))
        except Unreachable as error:
            next_pause = patient.after(failures + 1, asked=asked, repeatable=True)
            if next_pause is None:
                after = "the beginning" if last is None else f"event {last}"
                raise StreamBroken(f"The stream broke after {after}, and again at every attempt. ({error})") from error
            pause = next_pause
        failures += 1
        yield Pause(pause)


def _subscription(stream: Events[T], last: int | None) -> Message:
    message = with_headers(message_of(stream.request), Accept="text/event-stream", Cache_Control="no-store")
    return message if last is None else with_headers(message, Last_Event_ID=str(last))


def _event(stream: Events[T], data: str) -> T:
    try:
        return stream.read(data)
    except ValueError as error:
        raise UnexpectedAnswer(
            f"An event of {stream.request.path} is not what this version of the client expects: {difference(error)}. "
            "Check that server and client have the same version."
        ) from error


# ------------------------------------------------------------------ files


def parts(stream: Parts[T], retries: Retries) -> Source[T]:
    """Emit the parts of a file.

    Raises:
        StreamBroken: if it breaks on the way.
    """
    answer: Answer = yield from deliver(message_of(stream.request), retries, "bytes")
    length = answer.headers.get("content-length", "")
    total = int(length) if length.isdecimal() and "content-encoding" not in answer.headers else None
    size = 0
    try:
        while (part := (yield READ)) is not None:
            size += len(part)
            if stream.progress is not None:
                stream.progress(size, total)
            yield Emit([part])
    except Unreachable as error:
        raise StreamBroken(f"The download broke after {size:,} bytes. Start it again. ({error})") from error
