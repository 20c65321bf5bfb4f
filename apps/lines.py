"""Responses of JSON Lines, which are read and sent in pieces, so that their length does not matter."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import islice
from typing import Any

from django.http import StreamingHttpResponse

from apps.accounts.personal_data import as_line
from apps.live.threads import DatabaseThreads

CONTENT_TYPE = "application/jsonl"
LINES_AT_A_TIME = 200
_in_thread = DatabaseThreads(4, "lines").run
"""Reads the pieces of a few responses at a time; the others wait."""


def jsonl(rows: Iterable[Any], filename: str) -> StreamingHttpResponse:
    """A download with a line for each of these rows."""
    response = StreamingHttpResponse(_send(_pieces(iter(rows))), content_type=f"{CONTENT_TYPE}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    response["X-Accel-Buffering"] = "no"
    return response


def _pieces(rows: Iterator[Any]) -> Iterator[bytes]:
    while lines := [as_line(row) for row in islice(rows, LINES_AT_A_TIME)]:
        yield b"".join(lines)


async def _send(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await _in_thread(next, pieces, None)) is not None:
        yield piece
