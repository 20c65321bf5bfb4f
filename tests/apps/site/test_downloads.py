"""Downloads: they are sent while they are read, and people take turns."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, StreamingHttpResponse

from apps import downloads
from apps.accounts.models import User


def request_of(user: User | AnonymousUser, address: str = "192.0.2.1") -> HttpRequest:
    """A request of this person."""
    request = HttpRequest()
    request.user = user
    request.META["REMOTE_ADDR"] = address
    return request


def content(response: StreamingHttpResponse) -> AsyncIterator[bytes]:
    """The pieces as the server takes them."""
    pieces: Any = response.streaming_content
    assert response.is_async
    return pieces  # type: ignore[no-any-return]


async def read(response: StreamingHttpResponse) -> list[bytes]:
    """All pieces."""
    return [piece async for piece in content(response)]


async def test_it_is_read_as_it_is_sent_and_says_what_it_is() -> None:
    taken: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(3):
            taken.append(number)
            yield b"" if number == 1 else b"%d" % number

    response = downloads.download(request_of(AnonymousUser()), pieces(), "a.txt", "text/plain", length=2)
    assert response["Content-Disposition"] == 'attachment; filename="a.txt"'
    assert (response["Content-Type"], response["Content-Length"]) == ("text/plain", "2")
    sent = content(response)
    assert (await anext(sent), taken) == (b"0", [0])
    assert [piece async for piece in sent] == [b"2"]


async def test_lines_are_read_many_at_a_time() -> None:
    rows = [{"number": number} for number in range(downloads.LINES_AT_A_TIME + 1)]
    first, last = await read(downloads.jsonl(request_of(AnonymousUser()), rows, "a.jsonl"))
    assert first.count(b"\n") == downloads.LINES_AT_A_TIME
    assert last == b'{"number": 200}\n'


async def test_who_downloads_much_at_a_time_leaves_room_for_others() -> None:
    """Each piece of one person waits; neither another account nor a visitor at another address waits for them."""
    go_on = threading.Event()
    begun: list[int] = []

    def waiting(number: int) -> Iterator[bytes]:
        begun.append(number)
        go_on.wait(timeout=30)
        yield b"late"

    ada, bob = User(pk=1, username="ada"), User(pk=2, username="bob")
    many = [
        asyncio.create_task(read(downloads.download(request_of(ada, f"192.0.2.{n}"), waiting(n), "a", "text/plain")))
        for n in range(20)
    ]
    try:
        while len(begun) < downloads.THREADS // 2:
            await asyncio.sleep(0)
        for other in (request_of(bob), request_of(AnonymousUser(), "198.51.100.7")):
            async with asyncio.timeout(20):
                assert await read(downloads.download(other, iter([b"at ", b"once"]), "a", "text/plain")) == [
                    b"at ",
                    b"once",
                ]
        assert len(begun) == downloads.THREADS // 2
        assert not any(task.done() for task in many)
    finally:
        go_on.set()
    assert await asyncio.gather(*many) == [[b"late"]] * 20
