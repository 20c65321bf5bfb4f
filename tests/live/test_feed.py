"""A feed hands every step to every listener exactly once and in order, however it is disturbed."""

import asyncio
import re
from collections.abc import Callable

import pytest
from django.db import OperationalError
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.live.feed import BROKEN, STEPS_KEPT, Closed, Feed, Listener
from apps.live.topics import Event

SEQ = re.compile(r"<!--seq (\d+)-->")


class Row:
    """A row with a history: what Postgres would answer."""

    def __init__(self, *, folds: bool = False) -> None:
        self.seq = 0
        self.folds = folds
        self.reading = 0
        self.most_readers = 0
        self.fails = 0

    async def read(self, after: int) -> list[Event]:
        """Every turn after `after`: one event each, or all in one."""
        self.reading += 1
        self.most_readers = max(self.most_readers, self.reading)
        await asyncio.sleep(0)
        seqs = range(after + 1, self.seq + 1)
        await asyncio.sleep(0)
        self.reading -= 1
        if self.fails:
            self.fails -= 1
            raise OperationalError("the connection was closed")
        if self.folds:
            return [Event(self.seq, "".join(turn(n) for n in seqs))] if seqs else []
        return [Event(n, turn(n)) for n in seqs]


class Page:
    """A page: it applies messages as `live.js` does, and says after which seq it would come back."""

    def __init__(self, feed: Feed, seq: int) -> None:
        self.seq = seq
        self.first = seq
        self.turns: list[int] = []
        self.code: int | None = None
        self.listener = feed.join(seq)
        self.task = asyncio.create_task(self.pump())

    async def pump(self) -> None:
        """Take messages until told to go."""
        try:
            while True:
                self.take(await self.listener.next())
        except Closed as closed:
            self.code = closed.code

    def take(self, text: str) -> None:
        """Apply one message unless it is old."""
        found = SEQ.match(text)
        if found and int(found[1]) > self.seq:
            self.seq = int(found[1])
            self.turns += [int(n) for n in re.findall(r"<li>(\d+)</li>", text)]

    def leave(self, feed: Feed) -> None:
        """Close the page."""
        self.task.cancel()
        feed.leave(self.listener)


def turn(number: int) -> str:
    return f"<li>{number}</li>"


async def settle(done: Callable[[], bool]) -> None:
    """Let everything that can run run, until `done`."""
    for _ in range(2000):
        if done():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to rest")


DISTURBANCES = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.booleans()),  # a turn, and whether its hint arrives
        st.tuples(st.just("join"), st.integers(0, 60)),
        st.tuples(st.just("leave"), st.integers(0, 5)),
        st.tuples(st.just("repeat"), st.integers(0, 60)),  # an old hint comes again, or one comes early
        st.tuples(st.just("recheck"), st.just(0)),
        st.tuples(st.just("run"), st.integers(1, 12)),
    ),
    max_size=60,
)


@given(DISTURBANCES, st.booleans())
@settings(max_examples=300, deadline=None)
def test_every_page_ends_with_every_turn_once_and_in_order(disturbances: list[tuple[str, int]], folds: bool) -> None:
    async def live() -> None:
        row = Row(folds=folds)
        feed = Feed("test", row.read)
        pages = [Page(feed, 0)]
        for what, value in disturbances:
            if what == "publish":
                row.seq += 1
                if value:
                    feed.hear(row.seq)
            elif what == "join":
                pages.append(Page(feed, min(value, row.seq)))
            elif what == "leave" and value < len(pages) - 1:
                gone = pages.pop(value + 1)
                gone.leave(feed)
                pages.append(Page(feed, gone.seq))  # it comes back with what it has
                pages[-1].turns, pages[-1].first = gone.turns, gone.first
            elif what == "repeat":
                feed.hear(min(value, row.seq))
            elif what == "recheck":
                feed.hear(row.seq)
            elif what == "run":
                for _ in range(value):
                    await asyncio.sleep(0)
        feed.hear(row.seq)  # the recheck that always follows
        await settle(lambda: all(page.seq == row.seq for page in pages))
        for page in pages:
            assert page.turns == list(range(page.first + 1, row.seq + 1))
            page.leave(feed)
        assert row.most_readers <= 1

    asyncio.run(live())


async def test_a_thousand_listeners_cost_one_read() -> None:
    row = Row()
    feed = Feed("test", row.read)
    pages = [Page(feed, 0) for _ in range(1000)]
    await asyncio.sleep(0.01)
    before = feed.reads
    row.seq = 1
    feed.hear(1)
    await settle(lambda: all(page.turns == [1] for page in pages))
    assert feed.reads == before + 1


async def test_a_slow_listener_is_brought_up_to_date_and_nothing_is_kept_for_it() -> None:
    row = Row(folds=True)
    feed = Feed("test", row.read)
    slow = feed.join(0)
    fast = Page(feed, 0)
    for number in range(1, STEPS_KEPT * 3):
        row.seq = number
        feed.hear(number)
        await settle(lambda number=number: fast.seq == number)
    assert len(feed._steps) == STEPS_KEPT
    reads = feed.reads
    message = await slow.next()
    assert message.startswith(f"<!--seq {row.seq}-->")
    assert message.count("<li>") == row.seq
    assert feed.reads == reads + 1


async def test_a_long_history_reaches_a_late_joiner_whole() -> None:
    row = Row()
    row.seq = STEPS_KEPT * 4
    feed = Feed("test", row.read)
    page = Page(feed, 0)
    await settle(lambda: page.seq == row.seq)
    assert page.turns == list(range(1, row.seq + 1))
    assert len(feed._steps) == STEPS_KEPT


async def test_a_database_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.live.feed.RETRY_SECONDS", 0.01)
    row = Row()
    row.seq, row.fails = 3, 3
    page = Page(Feed("test", row.read), 0)
    for _ in range(100):
        if page.seq == 3:
            break
        await asyncio.sleep(0.01)
    assert page.turns == [1, 2, 3]


async def test_a_topic_that_breaks_sends_its_listeners_away_to_come_back() -> None:
    async def read(after: int) -> list[Event]:
        raise ZeroDivisionError

    page = Page(Feed("test", read), 0)
    await settle(lambda: page.code is not None)
    assert page.code == BROKEN


async def test_a_notice_replaces_an_older_one_that_was_not_sent() -> None:
    feed = Feed("test", Row().read)
    listener = feed.join(0)
    feed.notify("2 watching")
    feed.notify("3 watching")
    assert await listener.next() == "3 watching"
    assert await no_message(listener)


async def no_message(listener: Listener) -> bool:
    try:
        await asyncio.wait_for(listener.next(), 0.02)
    except TimeoutError:
        return True
    return False
