"""Lists, JSON lines and events come whole and once, however the parts are cut and wherever the connection breaks."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import BaseModel

from gem.client.errors import NotFound, StreamBroken, UnexpectedAnswer
from gem.client.request import Lines, Pages, Request
from gem.client.resources.following import events_of
from gem.client.retries import Retries
from gem.client.runners import AsyncRunner, SyncRunner
from gem.client.streams import LineSplitter
from tests.engine.client.faulty_server import FaultyServer, Handler, Step, faulty_server, ok, problem, reset, stream

RETRIES = Retries(first_pause=0.001, longest_pause=0.001)


class Item(BaseModel):
    """An item of a list."""

    n: int


class ItemPage(BaseModel):
    """A page of them."""

    items: list[Item]
    next: str | None = None


def _runner(server: FaultyServer) -> SyncRunner:
    return SyncRunner(server.url, retries=RETRIES, timeout_seconds=5)


# ------------------------------------------------------------------ pages


def _page(numbers: list[int], following: str | None) -> Step:
    return ok({"items": [{"n": n} for n in numbers], "next": following})


PAGES: Request[Any] = Request("GET", "items", ItemPage, {"q": "a b", "mine": True, "left_out": None, "tag": ["x", "y"]})


def test_all_pages_are_read_in_order() -> None:
    script = [_page([1, 2], "c1"), problem(503, "Busy."), _page([], "c2"), _page([3], None)]
    with faulty_server(*script) as server, _runner(server) as runner:
        assert [item.n for item in runner.iterate(Pages(PAGES))] == [1, 2, 3]
    queries = [parse_qs(urlsplit(asked.path).query) for asked in server.asked]
    assert [query.get("cursor") for query in queries] == [None, ["c1"], ["c1"], ["c2"]]
    assert queries[0] == {"q": ["a b"], "mine": ["true"], "tag": ["x", "y"]}


def test_a_page_is_asked_for_when_it_is_needed() -> None:
    with faulty_server(_page([1, 2], "c1"), _page([3], None)) as server, _runner(server) as runner:
        items = runner.iterate(Pages(PAGES))
        assert [next(items).n, next(items).n] == [1, 2]
        assert len(server.asked) == 1
        assert [item.n for item in runner.iterate(Pages(PAGES, most=0))] == []
        assert next(items).n == 3


def test_no_more_are_read_than_wanted() -> None:
    with faulty_server(_page([1, 2], "c1"), _page([3, 4], "c2")) as server, _runner(server) as runner:
        assert [item.n for item in runner.iterate(Pages(PAGES, most=3))] == [1, 2, 3]
    assert len(server.asked) == 2


async def test_the_other_client_reads_pages_too() -> None:
    with faulty_server(_page([1, 2], "c1"), reset, _page([3], None)) as server:
        async with AsyncRunner(server.url, retries=RETRIES) as runner:
            assert [item.n async for item in runner.iterate(Pages(PAGES))] == [1, 2, 3]


# ------------------------------------------------------------------ JSON lines

JSONL = "application/jsonl"
LINES: Request[Item] = Request("GET", "items", Item)


def _cut(data: bytes, seed: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    start = 0
    while start < len(data):
        end = start + draw.choice((1, 2, 7, 40, 400))
        yield data[start:end]
        start = end


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ending", [b"\n", b""], ids=["newline", "no newline"])
def test_lines_are_whole_however_they_are_cut(seed: int, ending: bytes) -> None:
    data = b"\n".join(json.dumps({"n": n, "text": "ä" * (n % 50)}, ensure_ascii=False).encode() for n in range(200))
    with faulty_server(stream(list(_cut(data + ending, seed)), JSONL)) as server, _runner(server) as runner:
        assert [item.n for item in runner.iterate(Lines(LINES))] == list(range(200))


def test_a_splitter_gives_back_every_byte() -> None:
    data = b"\n\nab\nc\n" + b"x" * 1000 + b"\n\nlast"
    for seed in range(20):
        splitter = LineSplitter()
        whole = [line for part in _cut(data, seed) for line in splitter.add(part)]
        assert b"\n".join([*whole, *splitter.rest()]) == data


def _lines_from(handler: Handler) -> None:
    """Send seven lines after the one that the request names, and break unless they are the last."""
    after = int(parse_qs(urlsplit(handler.path).query).get("after", ["0"])[0])
    lines = [json.dumps({"n": n}).encode() + b"\n" for n in range(after + 1, min(after + 8, 31))]
    half = b"" if after >= 23 else b'{"n": '
    stream([*lines, half] if half else lines, JSONL, breaks=bool(half))(handler)


def test_broken_lines_go_on_after_the_last_whole_one() -> None:
    resumable = Lines(LINES, lambda item: {"after": item.n})
    with faulty_server(_lines_from) as server, _runner(server) as runner:
        assert [item.n for item in runner.iterate(resumable)] == list(range(1, 31))
    assert len(server.asked) == 5


def test_lines_that_cannot_go_on_say_how_far_they_came() -> None:
    with faulty_server(_lines_from) as server, _runner(server) as runner:
        items = runner.iterate(Lines(LINES))
        with pytest.raises(StreamBroken, match="after 7 lines"):
            list(items)


def test_a_line_that_is_none_is_named() -> None:
    with (
        faulty_server(stream([b'{"n": 1}\n{"n": "one"}\n'], JSONL)) as server,
        _runner(server) as runner,
        pytest.raises(UnexpectedAnswer, match="items comes one that is not"),
    ):
        list(runner.iterate(Lines(LINES)))


def test_a_refused_stream_is_an_error_with_its_sentence() -> None:
    with (
        faulty_server(problem(404, "There is no episode x.")) as server,
        _runner(server) as runner,
        pytest.raises(NotFound, match=r"^There is no episode x\.$"),
    ):
        list(runner.iterate(Lines(LINES)))
        with pytest.raises(NotFound, match=r"^There is no episode x\.$"):
            list(runner.iterate(events_of("episodes/x", None)))


def test_a_long_stream_is_read_in_constant_memory() -> None:
    part = b"".join(json.dumps({"n": n, "text": "x" * 1000}).encode() + b"\n" for n in range(60))
    with faulty_server(stream([part] * 500, JSONL)) as server, _runner(server) as runner:
        items = runner.iterate(Lines(LINES))
        next(items)
        tracemalloc.start()
        count = 1 + sum(1 for _ in items)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 30_000
    assert peak < 3_000_000  # of 30 MB


def test_who_stops_early_closes_the_stream() -> None:
    with faulty_server(stream([b'{"n": 1}\n'] * 100, JSONL), ok({"n": 5})) as server, _runner(server) as runner:
        items = runner.iterate(Lines(LINES))
        assert next(items).n == 1
        items.close()  # type: ignore[attr-defined]
        assert runner.send(LINES).n == 5


# ------------------------------------------------------------------ events

SSE = "text/event-stream"


def _event(seq: int, name: str = "job.log", text: str = "") -> bytes:
    data = json.dumps({"event": name, "seq": seq, "job": "0123456789ab", "text": text or f"line {seq}"})
    return f"id: {seq}\nevent: {name}\ndata: {data}\n\n".encode()


def _ten_more(handler: Handler) -> None:
    """Send ten events after the last one that the client knows, a comment, half an event; break, or end at 95."""
    after = int(handler.headers.get("Last-Event-ID", 0))
    last = min(after + 10, 95)
    parts = [b": still here\n\n", *(_event(seq) for seq in range(after + 1, last + 1))]
    if last == 95:
        stream([*parts, _event(96, "job.ended")], SSE)(handler)
    else:
        stream([*parts, _event(last + 1)[:20]], SSE, breaks=after % 20 == 0)(handler)


def test_events_go_on_after_every_break_none_lost_and_none_doubled() -> None:
    with faulty_server(_ten_more) as server, _runner(server) as runner:
        events = list(runner.iterate(events_of("jobs/0123456789ab", None)))
    assert [event.seq for event in events] == list(range(1, 97))
    assert events[-1].event == "job.ended"
    assert server.asked[0].path == "/api/v1/jobs/0123456789ab/events"
    assert "last-event-id" not in server.asked[0].headers


async def test_the_other_client_follows_events_too() -> None:
    with faulty_server(reset, _ten_more) as server:
        async with AsyncRunner(server.url, retries=RETRIES) as runner:
            seqs = [event.seq async for event in runner.iterate(events_of("jobs/0123456789ab", 40))]
    assert seqs == list(range(41, 97))
    assert server.asked[0].headers["last-event-id"] == "40"


def test_a_stream_that_never_comes_back_is_given_up() -> None:
    with faulty_server(stream([_event(1)], SSE, breaks=True), reset) as server, _runner(server) as runner:
        events = runner.iterate(events_of("jobs/0123456789ab", None))
        assert next(events).seq == 1
        with pytest.raises(Exception, match="broke") as raised:
            list(events)
    assert type(raised.value).__name__ in ("Unreachable", "StreamBroken")
    assert len(server.asked) == 1 + 4 * RETRIES.tries


def test_an_event_of_a_later_version_is_passed_on() -> None:
    parts = [_event(1, "job.danced"), _event(2, "job.ended")]
    with faulty_server(stream(parts, SSE)) as server, _runner(server) as runner:
        events = list(runner.iterate(events_of("jobs/0123456789ab", None)))
    assert [(type(event).__name__, event.event) for event in events] == [
        ("UnknownEvent", "job.danced"),
        ("JobEnded", "job.ended"),
    ]
