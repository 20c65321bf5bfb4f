"""How a worker holds shards: a thread renews their leases, and the agent stops when they are lost."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from apps.faults import infrastructure_fault, may_be_of_the_work
from apps.jobs import admission, leases
from apps.jobs.leases import Claim
from apps.leases import LOOK_SECONDS, Heartbeat, LeaseLost
from gem.agents import Agent, AnyAgent, AsyncAgent, Decision, Request
from gem.errors import AgentFailure, AgentStopped

logger = logging.getLogger(__name__)


CLOSED_ERROR = "What it said is closed while the season of this job runs."
"""The sentence in the place of errors that may quote what is played."""
LOST = "Its shard was taken back."
"""The failure of an episode that is broken off because somebody else plays it. It is not recorded."""


class Stopping(Exception):
    """This process is shutting down. It releases the shard that it holds."""


class GivesWay(Stopping):
    """Somebody else waits for this worker. It gives its shard back, and the work goes on later."""


class AttemptFailed(Exception):
    """The shard could not be worked on this time. The message is a sentence for people."""


class Lease:
    """A context manager that holds claimed shards of one job; `check` raises if the work must stop.

    It begins with one shard. A worker that still plays the last episodes of it may `add` a further one, and `finishing`
    lets go of a shard. A shard that somebody takes back is `lost`, and the others are kept.

    An error that leaves the block, except `LeaseLost` and `Stopping`, is recorded as a failed attempt at the shards. A
    fault of the infrastructure is not: they are queued again and rest for a while (see `leases.postpone`).

    Args:
        slice_seconds: after this time, `gives_way` is set as soon as somebody else waits and has less.
    """

    def __init__(self, claim: Claim, stopping: Callable[[], bool], *, slice_seconds: float = math.inf) -> None:
        self.gives_way = threading.Event()
        """Whether the shards should be given back, with what has been recorded of them."""
        self.wishes = leases.Wishes(claim.num_envs, claim.orders)
        """What people want of this worker; it is at most a second old."""
        self.claim = claim
        """The claim that it began with. What it says about the job is the same for all of them."""
        self._held = [claim]
        self._lost: list[Claim] = []
        self._changing = threading.Lock()
        """Held while `_held` changes: episodes are recorded in another thread than shards are added."""
        self._stopping = stopping
        self._name = name = f"shard {claim.number} of job {claim.job_id}"
        self._slice_ends = monotonic() + slice_seconds
        self._heartbeat = Heartbeat(self._renew, self._look, name=name)

    def __enter__(self) -> Self:
        self._heartbeat.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._heartbeat.stop()
        if error is None or (isinstance(error, LeaseLost) and self._heartbeat.lost.is_set()):
            return True
        handled = [self._give_up(claim, error) for claim in self.held or [self.claim]]
        is_handled = all(handled)
        if not is_handled and isinstance(error, Exception) and self.claim.hidden_seeds:
            raise AttemptFailed(type(error).__name__).with_traceback(traceback) from None
        return is_handled

    # ------------------------------------------------------------------ several shards

    @property
    def held(self) -> list[Claim]:
        """The claims whose leases it holds, as far as it knows."""
        return list(self._held)

    @property
    def has_lost(self) -> bool:
        """Whether somebody has taken a shard back. No further one is added then: it could be the same one again."""
        return bool(self._lost)

    def add(self, claim: Claim) -> None:
        """Hold a further shard of the job, which has the same token and is none of those that it holds or has lost."""
        with self._changing:
            self._held = [*self._held, claim]
        self.wishes = replace(self.wishes, orders={**self.wishes.orders, **claim.orders})

    def claim_of(self, slot: int) -> Claim | None:
        """The claim of the shard with this slot; None if it is lost."""
        return next((claim for claim in self._held if slot in claim.slots_of_shard), None)

    @contextmanager
    def finishing(self, claim: Claim) -> Iterator[None]:
        """Let go of a shard whose last episodes the block records; it is held again if the block fails."""
        self._drop(claim)
        try:
            yield
        except LeaseLost:
            raise
        except BaseException:
            with self._changing:
                self._held = [*self._held, claim]
            raise

    def lose(self, claim: Claim) -> None:
        """Note that somebody has taken a shard back. Its episodes end before their next turn."""
        self._drop(claim)
        self._lost = [*self._lost, claim]

    def _drop(self, claim: Claim) -> None:
        with self._changing:
            self._held = [other for other in self._held if other is not claim]

    # ------------------------------------------------------------------ looking

    def _renew(self) -> bool:
        claims = self.held
        return not claims or leases.heartbeat(*claims)

    def _look(self) -> bool:
        """Whether any lease holds. Also looks what people want, and later whether somebody else waits."""
        claims = self.held
        if not claims:  # the last episodes of the last shard are being recorded
            return True
        wishes = leases.wishes(*claims)
        kept = wishes.held if wishes is not None else frozenset()
        for claim in claims:
            if claim.shard_id not in kept and any(claim is held for held in self._held):
                self.lose(claim)
        if wishes is None:
            return bool(self._held)
        self.wishes = wishes
        if wishes.why_stop:
            self.gives_way.set()
        is_asked = monotonic() >= self._slice_ends and not self.gives_way.is_set()
        if is_asked and admission.should_yield(min(kept), self.claim.job_id):
            self.gives_way.set()
        return True

    def broken_off(self, slot: int) -> str:
        """Why the episode in this slot ends before its next turn; empty if it goes on."""
        if slot in self.wishes.orders:
            return leases.CANCELLED
        is_lost = self.has_lost and any(slot in claim.slots_of_shard for claim in self._lost)
        return LOST if is_lost else ""

    def check(self) -> None:
        """Return if the work may continue.

        Raises:
            LeaseLost: the shards were cancelled or taken back.
            Stopping: this process is shutting down.
        """
        if self._heartbeat.lost.is_set() or (self._lost and not self._held):
            raise LeaseLost(f"{self._name} is no longer ours")
        if self._stopping():
            raise Stopping

    # ------------------------------------------------------------------ giving up

    def _give_up(self, claim: Claim, error: BaseException) -> bool:
        """Give a shard back after an error, unless it is lost. Returns whether the error is handled by it."""
        if isinstance(error, LeaseLost):
            leases.release(claim, "its worker lost another shard")
            return True
        if isinstance(error, AgentStopped):
            leases.fail_job(claim, CLOSED_ERROR if claim.hidden_seeds else str(error))
            return True
        if isinstance(error, GivesWay):
            if self.wishes.why_stop:
                leases.release(claim, self.wishes.why_stop)
            else:
                leases.give_way(claim)
            return True
        if isinstance(error, Stopping | SystemExit | KeyboardInterrupt):
            leases.release(claim)
            return isinstance(error, Stopping)
        if (fault := infrastructure_fault(error)) is not None:
            logger.warning("%s could not go on: %s %s", self._name, fault, error)
            self._postpone(claim, fault, may_be_of_the_work(error))
            return True
        reason = str(error) if isinstance(error, AttemptFailed) else f"{type(error).__name__}: {error}"
        if claim.hidden_seeds:  # the message may quote an observation, and the log of a worker keeps it
            reason = f"{type(error).__name__}. {CLOSED_ERROR}"
        leases.fail_shard(claim, reason)
        return False

    def _postpone(self, claim: Claim, fault: str, may_be_of_the_work: bool) -> None:
        """Give the shard back, with a pause. If the database is away, try until the lease expires by itself."""
        until = monotonic() + settings.LEASE_SECONDS
        while True:
            try:
                leases.postpone(claim, fault, may_be_of_the_work=may_be_of_the_work)
                return
            except DatabaseError as error:
                logger.warning("%s cannot be given back yet: %s", self._name, error)
                connection.close()
                if monotonic() > until or self._stopping():
                    return
            threading.Event().wait(LOOK_SECONDS)


def watched(agent: AnyAgent, lease: Lease) -> Watched | WatchedAsync:
    """Wrap an agent so that it stops when the lease is lost and counts the seconds that it takes to decide."""
    return WatchedAsync(agent, lease) if isinstance(agent, AsyncAgent) else Watched(agent, lease)


class Watched:
    """An agent that stops when the lease is lost, and counts the seconds that it takes to decide."""

    def __init__(self, agent: Agent, lease: Lease) -> None:
        self.name = agent.name
        self.seconds = 0.0
        self._agent = agent
        self._lease = lease

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`.

        Raises:
            LeaseLost, Stopping: see `Lease.check`.
        """
        self._lease.check()
        started = monotonic()
        decisions = self._agent.act(requests)
        self.seconds += monotonic() - started
        return decisions

    def take_seconds(self) -> float:
        """The seconds since the last call of this method."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


class WatchedAsync:
    """Like `Watched`, for an agent that decides in many episodes at a time.

    It counts the time during which at least one decision was awaited. The agent runs in an event loop of another thread
    than the one that reads the seconds, so a lock protects the counter.
    """

    def __init__(self, agent: AsyncAgent, lease: Lease) -> None:
        self.name = agent.name
        self.seconds = 0.0
        self._agent = agent
        self._lease = lease
        self._awaited = 0
        self._since = 0.0
        self._lock = threading.Lock()

    async def decide(self, request: Request) -> Decision:
        """See `AsyncAgent.decide`.

        Raises:
            AgentFailure: if a person has cancelled the episode.
            LeaseLost, Stopping: see `Lease.check`.
        """
        self._check(request)
        decision = asyncio.ensure_future(self._agent.decide(request))
        self._begin()
        try:
            while not decision.done():
                await asyncio.wait([decision], timeout=LOOK_SECONDS)
                self._check(request)
            return decision.result()
        finally:
            self._end()
            if not decision.done():
                decision.cancel()
                await asyncio.wait([decision])  # so that it books what its request may have used
            if not decision.cancelled():
                decision.exception()  # nobody waits for it any more, and asyncio logs what nobody has looked at

    def _check(self, request: Request) -> None:
        self._lease.check()
        if reason := self._lease.broken_off(request.episode):
            raise AgentFailure(reason)

    async def close(self) -> None:
        """See `AsyncAgent.close`."""
        await self._agent.close()

    def take_seconds(self) -> float:
        """See `Watched.take_seconds`. Decisions that are still awaited count up to now."""
        with self._lock:
            self._update_seconds()
            seconds, self.seconds = self.seconds, 0.0
            return seconds

    def _begin(self) -> None:
        with self._lock:
            self._update_seconds()
            self._awaited += 1

    def _end(self) -> None:
        with self._lock:
            self._update_seconds()
            self._awaited -= 1

    def _update_seconds(self) -> None:
        """Add the time since the last update to `seconds` if a decision is awaited."""
        now = monotonic()
        if self._awaited:
            self.seconds += now - self._since
        self._since = now
