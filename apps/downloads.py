"""Downloads, which are sent in pieces while they are read, so that their length does not matter.

The pieces are read in a few threads. People take turns, so nobody waits for somebody who downloads much at a time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from apps.accounts.lanes import Lane
from apps.accounts.personal_data import as_line
from apps.accounts.visitors import share_of
from apps.live.threads import DatabaseThreads

JSON_LINES = "application/jsonl; charset=utf-8"
LINES_AT_A_TIME = 200
THREADS = 4
Piece = TypeVar("Piece")
_lane = Lane(THREADS)
_in_thread = DatabaseThreads(THREADS, "downloads").run


class CutShort(Exception):
    """What is being downloaded was deleted, or is no longer for this person. The connection breaks off, so that what
    has arrived is not taken for the whole."""


def whole(pieces: Iterable[Piece], rows: QuerySet[Model]) -> Iterator[Piece]:
    """The pieces of what these rows hold, which end early, as if that were all, once rows are gone.

    Raises:
        CutShort: after the last piece, if there are fewer rows than before the first one.
    """
    before = rows.count()
    yield from pieces
    if rows.all().count() < before:
        raise CutShort("What was being downloaded was deleted or hidden.")


def download(
    request: HttpRequest, pieces: Iterator[bytes], filename: str, content_type: str, length: int | None = None
) -> StreamingHttpResponse:
    """A download of these pieces, each of which is read when the one before it was sent.

    Args:
        length: the number of bytes, where it is known, so that browsers show how much is left.
    """
    response = StreamingHttpResponse(_send(pieces, share_of(request)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    response["X-Accel-Buffering"] = "no"
    if length is not None:
        response["Content-Length"] = str(length)
    return response


def jsonl(request: HttpRequest, rows: Iterable[Any], filename: str) -> StreamingHttpResponse:
    """A download with a line for each of these rows."""
    return download(request, _lines(iter(rows)), filename, JSON_LINES)


def _lines(rows: Iterator[Any]) -> Iterator[bytes]:
    while lines := [as_line(row) for row in islice(rows, LINES_AT_A_TIME)]:
        yield b"".join(lines)


async def _send(pieces: Iterator[bytes], share: str) -> AsyncIterator[bytes]:
    while (piece := await _next(pieces, share)) is not None:
        if piece:
            yield piece


async def _next(pieces: Iterator[bytes], share: str) -> bytes | None:
    async with _lane.place(share):
        return await _in_thread(next, pieces, None)
