"""How a worker holds a shard: a thread renews the lease, and the agent stops when the lease is lost."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
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


class Stopping(Exception):
    """This process is shutting down. It releases the shard that it holds."""


class GivesWay(Stopping):
    """Somebody else waits for this worker. It gives its shard back, and the work goes on later."""


class AttemptFailed(Exception):
    """The shard could not be worked on this time. The message is a sentence for people."""


class Lease:
    """A context manager that holds a claimed shard; `check` raises if the work must stop.

    An error that leaves the block, except `LeaseLost` and `Stopping`, is recorded as a failed attempt at the shard. A
    fault of the infrastructure is not: the shard is queued again and rests for a while (see `leases.postpone`).

    Args:
        slice_seconds: after this time, `gives_way` is set as soon as somebody else waits and has less.
    """

    def __init__(self, claim: Claim, stopping: Callable[[], bool], *, slice_seconds: float = math.inf) -> None:
        self.gives_way = threading.Event()
        """Whether the shard should be given back, with what has been recorded of it."""
        self.wishes = leases.Wishes(claim.num_envs, claim.orders)
        """What people want of this worker; it is at most a second old."""
        self.claim = claim
        self._stopping = stopping
        self._name = name = f"shard {claim.number} of job {claim.job_id}"
        self._slice_ends = monotonic() + slice_seconds
        self._heartbeat = Heartbeat(partial(leases.heartbeat, claim), self._look, name=name)

    def __enter__(self) -> Self:
        self._heartbeat.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._heartbeat.stop()
        if error is None or isinstance(error, LeaseLost):
            return True
        if isinstance(error, AgentStopped):
            leases.fail_job(self.claim, CLOSED_ERROR if self.claim.hidden_seeds else str(error))
            return True
        if isinstance(error, GivesWay):
            if self.wishes.why_stop:
                leases.release(self.claim, self.wishes.why_stop)
            else:
                leases.give_way(self.claim)
            return True
        if isinstance(error, Stopping | SystemExit | KeyboardInterrupt):
            leases.release(self.claim)
            return isinstance(error, Stopping)
        if (fault := infrastructure_fault(error)) is not None:
            logger.warning("%s could not go on: %s %s", self._name, fault, error)
            self._postpone(fault, may_be_of_the_work(error))
            return True
        reason = str(error) if isinstance(error, AttemptFailed) else f"{type(error).__name__}: {error}"
        if self.claim.hidden_seeds:  # the message may quote an observation, and the log of a worker keeps it
            leases.fail_shard(self.claim, f"{type(error).__name__}. {CLOSED_ERROR}")
            raise AttemptFailed(type(error).__name__).with_traceback(traceback) from None
        leases.fail_shard(self.claim, reason)
        return False

    def _look(self) -> bool:
        """Whether the lease holds. Also looks what people want, and later whether somebody else waits."""
        wishes = leases.wishes(self.claim)
        if wishes is None:
            return False
        self.wishes = wishes
        if wishes.why_stop:
            self.gives_way.set()
        if monotonic() >= self._slice_ends and not self.gives_way.is_set():
            claim = self.claim
            if admission.should_yield(claim.shard_id, claim.job_id):
                self.gives_way.set()
        return True

    def broken_off(self, slot: int) -> str:
        """Why the episode in this slot ends before its next turn; empty if it goes on."""
        return leases.CANCELLED if slot in self.wishes.orders else ""

    def _postpone(self, fault: str, may_be_of_the_work: bool) -> None:
        """Give the shard back, with a pause. If the database is away, try until the lease expires by itself."""
        until = monotonic() + settings.LEASE_SECONDS
        while True:
            try:
                leases.postpone(self.claim, fault, may_be_of_the_work=may_be_of_the_work)
                return
            except DatabaseError as error:
                logger.warning("%s cannot be given back yet: %s", self._name, error)
                connection.close()
                if monotonic() > until or self._stopping():
                    return
            threading.Event().wait(LOOK_SECONDS)

    def check(self) -> None:
        """Return if the work may continue.

        Raises:
            LeaseLost: the shard was cancelled or taken back.
            Stopping: this process is shutting down.
        """
        if self._heartbeat.lost.is_set():
            raise LeaseLost(f"shard {self.claim.number} of job {self.claim.job_id} is no longer ours")
        if self._stopping():
            raise Stopping


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
