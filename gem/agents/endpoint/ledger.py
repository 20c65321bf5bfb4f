"""The books of an evaluation: no request leaves before the most that it can use is reserved, and each is booked.

    with Ledger(MemoryStore(Limits(tokens=15_000))) as ledger:
        agent = EndpointAgent(spec, ledger=ledger)

`Ledger` is what agents use. It collects what they ask and report, and a thread of its own passes it on together, so
that a store which takes some milliseconds (a database) is written to once for all requests that wait at the moment.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from decimal import Decimal
from time import monotonic
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from gem.agents.endpoint.amounts import NOTHING, Amount, amount_of
from gem.agents.endpoint.completion import Usage
from gem.agents.endpoint.spec import Prices
from gem.errors import BudgetUsedUp, EpisodeLimitReached

logger = logging.getLogger(__name__)

GATHER_SECONDS = 0.004
"""Between two writes, so that requests which begin one shortly after another are one write."""
LOOK_SECONDS = 0.25
"""How often it is tried whether there is room again, and how long a booking waits if nothing else is to be written."""
FLUSH_SECONDS = 60.0
"""How long `Ledger.flush` and the end of a ledger wait for the store."""


class StoreHangs(Exception):
    """The store did not answer in time."""


class Account(NamedTuple):
    """Who a request is for."""

    episode: int
    """The place of the episode in its batch."""
    side: str = "agent"
    """`agent` or `opponent`."""


class Entry(NamedTuple):
    """A request that was reserved, or what it came to."""

    number: int
    """Counts the reservations of a ledger from 1."""
    account: Account
    bound: Amount
    """What was reserved for it."""
    used: Amount = Amount()
    is_estimated: bool = False
    """Whether the answer was lost or came without a count, so that `used` is the bound."""
    is_sent: bool = True


class Limits(NamedTuple):
    """What an evaluation may use altogether; None where there is no limit."""

    tokens: int | None = None
    money: Decimal | None = None

    def fits(self, amount: Amount) -> bool:
        """Whether this much may be used."""
        return (self.tokens is None or amount.tokens <= self.tokens) and (
            self.money is None or amount.money <= self.money
        )

    def describe(self, booked: Amount, bound: Amount) -> str:
        """Return the sentences that say why there will never be room for a request, once `booked` is used."""
        if self.tokens is not None and booked.tokens + bound.tokens > self.tokens:
            return (
                f"The budget of {self.tokens:,} tokens is used up. {booked.tokens:,} are booked, and the next request "
                f"may need {bound.tokens:,}."
            )
        return "The money budget is used up. The next request may cost more than what is left."


NO_LIMITS = Limits()


class Verdict(NamedTuple):
    """How many of the requests that ask may be sent now."""

    granted: int
    refusal: str = ""
    """Why the next one may never be sent; empty if it may be sent when others are over."""


def judge(limits: Limits, booked: Amount, reserved: Amount, bounds: Sequence[Amount]) -> Verdict:
    """Decide which requests may be sent: the first ones that fit beside what is booked and reserved.

    The first one that does not fit keeps those behind it waiting, so that long requests get their turn too.
    """
    for place, bound in enumerate(bounds):
        if not limits.fits(booked.plus(bound)):
            return Verdict(place, limits.describe(booked, bound))
        reserved = reserved.plus(bound)
        if not limits.fits(booked.plus(reserved)):
            return Verdict(place)
    return Verdict(len(bounds))


class Store(Protocol):
    """Where the books are kept. Its methods are called in one thread."""

    def write(self, closed: Sequence[Entry], asked: Sequence[Entry]) -> Verdict:
        """Book the closed requests and reserve the first ones of those asked for that fit, both or nothing."""
        ...

    def close(self) -> None:
        """Let go of what the thread holds, such as a connection."""
        ...


@dataclass(slots=True)
class Books:
    """Sums of what requests have used."""

    booked: Amount = NOTHING
    estimated: Amount = NOTHING
    """The part of `booked` that is estimated."""
    requests: int = 0

    def add(self, entry: Entry) -> None:
        """Book a request that is over."""
        self.requests += entry.is_sent
        self.booked = self.booked.plus(entry.used)
        if entry.is_estimated:
            self.estimated = self.estimated.plus(entry.used)


@dataclass
class MemoryStore:
    """Books in the memory of this process."""

    limits: Limits = NO_LIMITS
    total: Books = field(default_factory=Books)
    accounts: defaultdict[Account, Books] = field(default_factory=lambda: defaultdict(Books))
    reserved: dict[int, Amount] = field(default_factory=dict)
    """What is reserved for requests that are under way, by their number."""

    def write(self, closed: Sequence[Entry], asked: Sequence[Entry]) -> Verdict:
        """See `Store.write`."""
        for entry in closed:
            del self.reserved[entry.number]
            self.total.add(entry)
            self.accounts[entry.account].add(entry)
        reserved = Amount()
        for amount in self.reserved.values():
            reserved = reserved.plus(amount)
        verdict = judge(self.limits, self.total.booked, reserved, [entry.bound for entry in asked])
        self.reserved |= {entry.number: entry.bound for entry in asked[: verdict.granted]}
        return verdict

    def close(self) -> None:
        """See `Store.close`."""


class Reservation:
    """The permission to send one request, which ends with one of its methods."""

    def __init__(self, ledger: Ledger, entry: Entry, prices: Prices | None) -> None:
        self._ledger = ledger
        self._entry = entry
        self._prices = prices

    @property
    def bound(self) -> Amount:
        """What was reserved."""
        return self._entry.bound

    def settle(self, usage: Usage) -> None:
        """Book what the server counted."""
        self._ledger.book(self._entry._replace(used=amount_of(usage, self._prices)))

    def lose(self) -> None:
        """Book the whole reservation as an estimate: the answer was lost, or came without a count."""
        self._ledger.book(self._entry._replace(used=self._entry.bound, is_estimated=True))

    def release(self) -> None:
        """Book nothing: no request was sent."""
        self._ledger.book(self._entry._replace(is_sent=False))


class _Ask(NamedTuple):
    entry: Entry
    reservation: Reservation
    future: Future[Reservation]


class Ledger:
    """Reserves and books requests. It is used in a `with` block, from any thread and event loop.

    Args:
        store: where the books are kept.
        episode_limits: the most of an episode, that of all its agents together.
    """

    def __init__(self, store: Store, episode_limits: Limits = NO_LIMITS) -> None:
        self.refusal = ""
        """Why no further request is sent: the budget is used up. Empty while there may be room."""
        self.writes = 0
        """How often the store was written to."""
        self._store = store
        self._episode_limits = episode_limits
        self._spent: defaultdict[int, Amount] = defaultdict(Amount)
        """What each episode has used in this process."""
        self._changed = threading.Condition()
        self._asked: list[_Ask] = []
        self._closed: list[Entry] = []
        self._flushes: list[Future[None]] = []
        self._is_blocked = False
        """Whether there was no room for the first of those that ask."""
        self._is_writing = False
        self._is_over = False
        self._number = 0
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Book what is left, and end the thread. If the store fails then, what was reserved stays reserved."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join(FLUSH_SECONDS)
        if self._thread.is_alive():
            logger.warning("The store of the books does not answer; what is reserved is booked as an estimate.")

    async def reserve(self, account: Account, bound: Usage, prices: Prices | None = None) -> Reservation:
        """Reserve the most that a request can use, and wait while requests under way leave no room for it.

        Raises:
            EpisodeLimitReached: if a limit of the episode has no room for it.
            BudgetUsedUp: if the budget will never have room for it.
            Exception: what the store raises.
        """
        if self.refusal:
            raise BudgetUsedUp(self.refusal)
        amount = amount_of(bound, prices)
        self._check_episode(self._spent[account.episode], amount)
        future: Future[Reservation] = Future()
        with self._changed:
            self._number += 1
            entry = Entry(self._number, account, amount)
            self._asked.append(_Ask(entry, Reservation(self, entry, prices), future))
            self._changed.notify()
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().release()
            raise

    def book(self, entry: Entry) -> None:
        """Book a request that is over; `Reservation` calls this."""
        with self._changed:
            self._spent[entry.account.episode] = self._spent[entry.account.episode].plus(entry.used)
            self._closed.append(entry)
            self._changed.notify()

    def flush(self) -> None:
        """Return once everything that is over is in the store.

        Raises:
            StoreHangs: if that takes longer than `FLUSH_SECONDS`. What is over is written when the store answers.
            Exception: what the store raises.
        """
        future: Future[None] = Future()
        with self._changed:
            if not self._closed and not self._is_writing:
                return
            self._flushes.append(future)
            self._changed.notify()
        try:
            future.result(FLUSH_SECONDS)
        except TimeoutError:
            raise StoreHangs(f"The books were not written within {FLUSH_SECONDS:.0f} s.") from None

    def _check_episode(self, spent: Amount, bound: Amount) -> None:
        limits, total = self._episode_limits, spent.plus(bound)
        if limits.tokens is not None and total.tokens > limits.tokens:
            raise EpisodeLimitReached(
                f"The limit of {limits.tokens:,} tokens for the episode is reached: {spent.tokens:,} are booked, and "
                f"the next request may need {bound.tokens:,}.",
                "tokens",
            )
        if not limits.fits(total):
            raise EpisodeLimitReached(
                "The money limit of the episode is reached. The next request may cost more than what is left.", "money"
            )

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        try:
            while self._write():
                pause = GATHER_SECONDS if not self._is_over else 0.0
                threading.Event().wait(pause)
        finally:
            self._store.close()

    def _write(self) -> bool:
        """Wait until there is something to write, and write it. Returns whether the ledger goes on."""
        with self._changed:
            until = monotonic() + LOOK_SECONDS
            while not self._is_due() and not ((self._closed or self._is_blocked) and monotonic() >= until):
                has_rest = self._closed or self._is_blocked
                self._changed.wait(max(0.0, until - monotonic()) if has_rest else None)
                until = until if has_rest else monotonic() + LOOK_SECONDS
            is_over = self._is_over
            asked, self._asked = self._asked, []
            closed, self._closed = self._closed, []
            flushes, self._flushes = self._flushes, []
            self._is_writing = True
        if is_over:
            for ask in asked:
                ask.future.cancel()
            asked = []
        if closed or asked:
            self._pass_on(closed, asked, flushes, is_over=is_over)
        with self._changed:
            self._is_writing = False
        for flush in flushes:
            if not flush.done():
                flush.set_result(None)
        return not is_over

    def _is_due(self) -> bool:
        has_room = not self._is_blocked or bool(self._closed)
        return self._is_over or bool(self._flushes) or (bool(self._asked) and has_room)

    def _pass_on(
        self, closed: list[Entry], asked: list[_Ask], flushes: Sequence[Future[None]], *, is_over: bool
    ) -> None:
        """Write to the store, and tell those that asked."""
        try:
            verdict = self._store.write(closed, [ask.entry for ask in asked])
        except Exception as error:  # noqa: BLE001  # whoever asked decides what a fault of the store means
            if is_over:
                logger.warning("%s requests stay reserved, because they cannot be booked: %s", len(closed), error)
            with self._changed:
                self._closed = closed + self._closed
            for ask in asked:
                _fail(ask.future, error)
            for flush in flushes:
                _fail(flush, error)
            return
        self.writes += 1
        granted, waiting_asks = asked[: verdict.granted], asked[verdict.granted :]
        for ask in granted:
            try:
                ask.future.set_result(ask.reservation)
            except InvalidStateError:  # its turn was cancelled meanwhile
                ask.reservation.release()
        if verdict.refusal:
            self.refusal = self.refusal or verdict.refusal
            for ask in waiting_asks:
                _fail(ask.future, BudgetUsedUp(verdict.refusal))
            waiting_asks = []
        with self._changed:
            self._asked = [ask for ask in waiting_asks if not ask.future.cancelled()] + self._asked
            self._is_blocked = bool(waiting_asks)


def _fail(future: Future[Reservation] | Future[None], error: Exception) -> None:
    try:
        future.set_exception(error)
    except InvalidStateError:
        return
