"""A feed hands every step to every listener exactly once and in order, however it is disturbed."""

import asyncio
import re
from collections.abc import Callable

import pytest
from django.db import OperationalError
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.live.feed import BEGINNING, BROKEN, MAX_STEPS, OVER, Closed, Feed, Listener, Message, Reading

SEQ = re.compile(r"<!--seq (\d+)-->")
PACE = 1.25
SLEEP = asyncio.sleep


class Row:
    """A row with a history: what Postgres would answer."""

    def __init__(self, *, folds: bool = False, at_once: int = 10**6, is_quiet: bool = False) -> None:
        self.seq = 0
        self.folds = folds
        self.at_once = at_once
        self.is_quiet = is_quiet
        self.is_over = False
        self.reading = 0
        self.most_readers = 0
        self.fails = 0

    def shows(self, number: int) -> bool:
        """Whether there is a message about this change; a pause of an episode, for example, has none."""
        return not self.is_quiet or number % 3 == 0

    async def read(self, after: int) -> Reading:
        """Every turn after `after`: one message each, or all in one."""
        self.reading += 1
        self.most_readers = max(self.most_readers, self.reading)
        await asyncio.sleep(0)
        seqs = range(after + 1, self.seq + 1)  # one snapshot, however long it takes to draw it
        is_over = self.is_over
        await asyncio.sleep(0)
        self.reading -= 1
        if self.fails:
            self.fails -= 1
            raise OperationalError("the connection was closed")
        top = seqs[-1] if seqs else after
        if self.folds:
            text = f"<!--seq {top}-->" + "".join(turn(n) for n in seqs)
            return Reading([Message(top, text)] if seqs else [], top, top, is_over)
        messages = [Message(n, f"<!--seq {n}-->{turn(n)}") for n in seqs[: self.at_once] if self.shows(n)]
        return Reading(messages, min(after + self.at_once, top), top, is_over)


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


class World:
    """One row, its feed, its pages, and what may happen to them."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.feed = Feed("row:1", "watch", self.row.read)
        self.pages = [Page(self.feed, 0)]

    async def publish(self, hinted: int) -> None:
        """A turn is played; its hint may be lost."""
        self.row.seq += 1
        if hinted:
            self.feed.hear(self.row.seq)

    async def join(self, seq: int) -> None:
        """A page opens that was drawn a while ago."""
        self.pages.append(Page(self.feed, min(seq, self.row.seq)))

    async def come_back(self, which: int) -> None:
        """A page loses its socket and opens another one with what it has."""
        old = self.pages.pop(which % len(self.pages))
        old.leave(self.feed)
        new = Page(self.feed, old.seq)
        new.turns, new.first = old.turns, old.first
        self.pages.append(new)

    async def hint(self, seq: int) -> None:
        """An old hint comes again, or the recheck finds out."""
        self.feed.hear(min(seq, self.row.seq))

    async def run(self, steps: int) -> None:
        """Others get their turn."""
        for _ in range(steps):
            await asyncio.sleep(0)


DISTURBANCES = st.lists(
    st.tuples(st.sampled_from(["publish", "join", "come_back", "hint", "run"]), st.integers(0, 60)), max_size=80
)


async def live(disturbances: list[tuple[str, int]], row: Row) -> None:
    """Let it all happen, and look at what every page ended with."""
    world = World(row)
    for what, value in disturbances:
        await getattr(world, what)(value % 2 if what == "publish" else value % 13 if what == "run" else value)
    last = world.row.seq
    world.feed.hear(last)  # the recheck that always follows

    def shown(page: Page) -> list[int]:
        return [number for number in range(page.first + 1, last + 1) if row.shows(number)]

    await settle(lambda: all(len(page.turns) >= len(shown(page)) for page in world.pages))
    for page in world.pages:
        assert page.turns == shown(page)
        page.leave(world.feed)
    assert world.row.most_readers <= 1


@given(DISTURBANCES, st.booleans())
@settings(max_examples=300, deadline=None)
def test_every_page_ends_with_every_turn_once_and_in_order(disturbances: list[tuple[str, int]], folds: bool) -> None:
    asyncio.run(live(disturbances, Row(folds=folds)))


@given(DISTURBANCES, st.integers(1, 5), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_reader_of_parts_ends_with_every_turn_too(
    disturbances: list[tuple[str, int]], at_once: int, is_quiet: bool
) -> None:
    asyncio.run(live(disturbances, Row(at_once=at_once, is_quiet=is_quiet)))


async def test_a_reader_of_a_row_that_is_over_gets_what_is_left_and_is_closed() -> None:
    row = Row(at_once=2)
    row.seq, row.is_over = 5, True
    feed = Feed("row:1", "watch", row.read)
    for seq in (BEGINNING, 0, 3, 5):
        page = Page(feed, seq)
        await settle(lambda page=page: page.code is not None)
        assert page.turns == list(range(seq + 1, 6))
        assert page.code == OVER


async def test_what_was_over_and_goes_on_is_read_on() -> None:
    row = Row()
    row.seq, row.is_over = 2, True
    feed = Feed("row:1", "watch", row.read)
    early = Page(feed, 0)
    await settle(lambda: early.code == OVER)
    row.seq, row.is_over = 3, False
    late = Page(feed, 2)
    feed.hear(3)
    await settle(lambda: late.seq == 3)
    assert late.code is None


class SecretRow(Row):
    """A row whose messages hide something until it is over."""

    async def read(self, after: int) -> Reading:
        """See `Row.read`."""
        reading = await super().read(after)
        shown = "shown" if reading.is_over else "hidden"
        return reading._replace(messages=[each._replace(text=f"{each.text}{shown}") for each in reading.messages])


async def texts_of(listener: Listener) -> list[str]:
    """What a listener of a row that is over gets."""
    texts = []
    with pytest.raises(Closed) as closed:
        while True:
            texts.append(await listener.next())
    assert closed.value.code == OVER
    return texts


async def test_what_the_end_reveals_is_shown_to_whoever_joins_after_it() -> None:
    row = SecretRow()
    row.seq = 3
    feed = Feed("row:1", "watch", row.read)
    early = feed.join(BEGINNING)
    assert "hidden" in await early.next()
    feed.leave(early)
    row.seq, row.is_over = 4, True  # and the hint is still on its way
    late = await texts_of(feed.join(BEGINNING, is_over=True))
    assert len(late) == 5
    assert all("shown" in text for text in late)


async def test_what_is_read_while_a_row_ends_is_read_again() -> None:
    row, has_read, may_answer = SecretRow(), asyncio.Event(), asyncio.Event()
    row.seq = 3

    async def read(after: int) -> Reading:
        reading = await row.read(after)
        has_read.set()
        await may_answer.wait()
        return reading

    feed = Feed("row:1", "watch", read)
    early = feed.join(BEGINNING)
    await has_read.wait()
    row.seq, row.is_over = 4, True
    may_answer.set()
    late = feed.join(BEGINNING, is_over=True)
    assert all("shown" in text for text in await texts_of(late))
    assert all("shown" in text for text in await texts_of(early))


async def test_steps_from_before_the_end_are_forgotten_when_the_end_is_read() -> None:
    row = SecretRow()
    row.seq = 3
    feed = Feed("row:1", "watch", row.read)
    watching = feed.join(BEGINNING)
    assert [("hidden" in await watching.next()) for _ in range(4)] == [True] * 4
    row.seq, row.is_over = 4, True
    feed.hear(4)
    assert len(await texts_of(watching)) == 1
    assert all("shown" in text for text in await texts_of(feed.join(BEGINNING)))


async def test_a_thousand_listeners_cost_one_read() -> None:
    row = Row()
    feed = Feed("row:1", "watch", row.read)
    pages = [Page(feed, 0) for _ in range(1000)]
    await settle(lambda: feed.reads > 0 and all(page.listener.idle for page in pages))
    before = feed.reads
    row.seq = 1
    feed.hear(1)
    await settle(lambda: all(page.turns == [1] for page in pages))
    assert feed.reads == before + 1


async def test_a_slow_listener_is_brought_up_to_date_and_nothing_is_kept_for_it() -> None:
    row = Row(folds=True)
    feed = Feed("row:1", "watch", row.read)
    slow = feed.join(0)
    fast = Page(feed, 0)
    for number in range(1, MAX_STEPS * 3):
        row.seq = number
        feed.hear(number)
        await settle(lambda number=number: fast.seq == number)
    assert len(feed._steps) == MAX_STEPS
    reads = feed.reads
    message = await slow.next()
    assert message.startswith(f"<!--seq {row.seq}-->")
    assert message.count("<li>") == row.seq
    assert feed.reads == reads + 1


async def test_a_feed_with_a_pace_reads_once_for_all_that_happens_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    paced, go_on = asyncio.Event(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        if seconds == PACE:
            paced.set()
            await go_on.wait()
        else:
            await SLEEP(seconds)

    monkeypatch.setattr("apps.live.feed.asyncio.sleep", sleep)
    row = Row(folds=True)
    row.seq = 1
    feed = Feed("row:1", "watch", row.read, pace=PACE)
    page = Page(feed, 0)
    await paced.wait()
    for number in range(2, 20):
        row.seq = number
        feed.hear(number)
        await SLEEP(0)
    assert (page.seq, feed.reads) == (1, 1)
    go_on.set()
    await settle(lambda: page.seq == 19)
    assert page.turns == list(range(1, 20))
    assert feed.reads == 2


async def test_a_long_history_reaches_a_late_joiner_whole() -> None:
    row = Row()
    row.seq = MAX_STEPS * 4
    feed = Feed("row:1", "watch", row.read)
    page = Page(feed, 0)
    await settle(lambda: page.seq == row.seq)
    assert page.turns == list(range(1, row.seq + 1))
    assert len(feed._steps) == MAX_STEPS


async def test_a_database_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.live.feed.RETRY_SECONDS", 0.01)
    row = Row()
    row.seq, row.fails = 3, 3
    page = Page(Feed("row:1", "watch", row.read), 0)
    async with asyncio.timeout(20):
        while page.seq < 3:
            await asyncio.sleep(0.01)
    assert page.turns == [1, 2, 3]


async def test_a_topic_that_breaks_sends_its_listeners_away_to_come_back() -> None:
    async def read(after: int) -> Reading:
        raise ZeroDivisionError

    page = Page(Feed("row:1", "watch", read), 0)
    await settle(lambda: page.code is not None)
    assert page.code == BROKEN


async def test_a_notice_replaces_an_older_one_that_was_not_sent() -> None:
    feed = Feed("row:1", "watch", Row().read)
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
