"""The episodes that a worker plays in one rollout: those of one shard after the other, as long as nobody else waits.

At the end of a shard fewer and fewer of its episodes are left. So that all places stay busy, the first episodes of the
next shard of the same job begin while those are played to their end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import NamedTuple

from apps.failpoints import failpoint
from apps.jobs import leases
from apps.jobs.leases import Claim
from apps.leaderboard.proofs.choices import note_machine
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest
from workers.playing.lease import Lease

MAX_SHARDS = 16
"""Shards that a worker holds at a time. Where each has few episodes, several are needed for all places."""
ASYNC_SECONDS, SECONDS = 300.0, 15.0
"""For so long a worker goes on with a job before it returns to the broker and to other jobs of the same person. It is
longer for agents that are asked at the same time, because the end of a rollout, when places are empty, costs them more.
"""


class Part(NamedTuple):
    """Episodes of one shard that have ended."""

    claim: Claim
    records: list[EpisodeRecord]
    is_last: bool
    """Whether they are the last ones of the shard."""

    @property
    def turns(self) -> int:
        """The turns of the episodes."""
        return sum(record.turn_count for record in self.records)


class Feed:
    """The episodes of the shards that a lease holds, and of those that it adds.

    Args:
        is_used_up: says whether a budget is used up; nothing begins any more then.
        is_async: whether an agent is asked about all episodes at the same time.
    """

    def __init__(self, lease: Lease, is_used_up: Callable[[], bool], *, is_async: bool) -> None:
        self._lease = lease
        self._is_used_up = is_used_up
        self._is_async = is_async
        self._until = monotonic() + (ASYNC_SECONDS if is_async else SECONDS)
        self._left: dict[int, int] = {}
        """The episodes of each shard that are not recorded yet, by the key of the shard."""

    def shards(self) -> Iterator[Iterator[EpisodeRequest]]:
        """The open slots of the first shard, and of further ones when all of its episodes have begun."""
        claim: Claim | None = self._lease.claim
        while claim is not None:
            requests = claim.slots()
            self._left[claim.shard_id] = len(requests)
            if claim.spec.hidden_seeds:
                note_machine(claim.shard_id, claim.agent)
            yield self._while_wanted(requests)
            claim = self._another()

    def parts_of(self, records: Sequence[EpisodeRecord]) -> list[Part]:
        """Group episodes that have ended by their shards. Those of lost shards are left out."""
        by_shard: dict[int, Part] = {}
        for record in records:
            claim = self._lease.claim_of(record.index)
            if claim is not None:
                self._left[claim.shard_id] -= 1
                part = by_shard.setdefault(claim.shard_id, Part(claim, [], False))
                part.records.append(record)
        return [part._replace(is_last=self._left[key] <= 0) for key, part in by_shard.items()]

    def leave_open(self, claim: Claim, slot: int) -> None:
        """Leave an episode that was broken off to the next claim of its shard, which is given back soon.

        Raises:
            LeaseLost: see `leases.leave_open`.
        """
        leases.leave_open(claim, slot)
        self._until = 0.0

    def _while_wanted(self, requests: Sequence[EpisodeRequest]) -> Iterator[EpisodeRequest]:
        """The slots to play. None begins any more when somebody else waits, the budget is used up or the shard lost."""
        for request in requests:
            if self._lease.claim_of(request.index) is None:
                return
            yield request
            if self._is_over:
                return

    def _another(self) -> Claim | None:
        """Claim a further shard of the job, if the worker may go on with it.

        A shard that was taken back from this worker is queued again, and could be the next one. Its episodes are still
        being played here, so it is left to the next lease.
        """
        lease = self._lease
        if self._is_over or monotonic() >= self._until or lease.has_lost or len(lease.held) >= MAX_SHARDS:
            return None
        claim = leases.claim_another(lease.claim, before_own_jobs=self._is_async)
        if claim is None:
            return None
        failpoint("claimed")
        if any(claim.shard_id == held.shard_id for held in lease.held) or lease.has_lost:
            leases.release(claim, "its worker had lost it and still played it")
            return None
        lease.add(claim)
        return claim

    @property
    def _is_over(self) -> bool:
        return self._lease.gives_way.is_set() or self._is_used_up()
