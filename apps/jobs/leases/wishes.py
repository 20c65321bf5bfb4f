"""What people want of the workers that play an evaluation. Workers look once a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from apps.jobs.leases.claims import Claim, by_slot, owned
from apps.jobs.models import Job, Shard
from apps.leases import LeaseLost


@dataclass(frozen=True, slots=True)
class Wishes:
    """What people want of a worker that plays shards of a job. It looks once a second (`wishes`)."""

    num_envs: int
    """Episodes to play at a time."""
    orders: Mapping[int, str]
    """What to do with episodes that are under way, by slot: `fail`, `drop` or `again`."""
    why_stop: str = ""
    """Why it should begin no further episode and give the shards back; empty if it should not."""
    held: frozenset[int] = frozenset()
    """The shards of which it has the lease."""


def wishes(*claims: Claim) -> Wishes | None:
    """What people want of the worker with these claims now; None if it has lost all leases. Only reads."""
    names = ("pk", "number", "orders", "job__state", "job__num_envs", "job__max_workers")
    rows = list(owned(*claims).values_list(*names))
    if not rows:
        return None
    first = claims[0]
    orders = {slot: order for row in rows for slot, order in by_slot(row[2]).items()}
    state, num_envs, most = rows[0][3:]
    why_stop = ""
    if state == Job.State.PAUSED:
        why_stop = "the job is paused"
    elif most is not None:
        number = min(row[1] for row in rows)
        running = Shard.objects.filter(job=first.job_id, state=Shard.State.RUNNING, number__lt=number)
        earlier = running.exclude(lease_token=first.token).values("lease_token").distinct().count()
        why_stop = "the job may have fewer workers now" if earlier >= most else ""
    at_a_time = num_envs or int(first.request.get("num_envs", 1))
    return Wishes(at_a_time, orders, why_stop, frozenset(row[0] for row in rows))


@transaction.atomic
def leave_open(claim: Claim, slot: int) -> None:
    """Forget what was ordered about an episode that was broken off, so that it is played again.

    Raises:
        LeaseLost: see `record_episodes`.
    """
    shard = owned(claim).select_for_update().first()
    if shard is None:
        raise LeaseLost(f"shard {claim.number} of job {claim.job_id} is no longer ours")
    shard.orders = {key: order for key, order in shard.orders.items() if key != str(slot)}
    shard.save(update_fields=["orders"])
