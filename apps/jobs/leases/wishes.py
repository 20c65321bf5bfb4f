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
    """What people want of a worker that plays a shard. It looks once a second (`wishes`)."""

    num_envs: int
    """Episodes to play at a time."""
    orders: Mapping[int, str]
    """What to do with episodes that are under way, by slot: `fail`, `drop` or `again`."""
    why_stop: str = ""
    """Why it should begin no further episode and give the shard back; empty if it should not."""


def wishes(claim: Claim) -> Wishes | None:
    """What people want of the worker now; None if it has lost the lease. Only reads."""
    names = ("number", "orders", "job__state", "job__num_envs", "job__max_workers")
    row = owned(claim).values_list(*names).first()
    if row is None:
        return None
    number, orders, state, num_envs, most = row
    why_stop = ""
    if state == Job.State.PAUSED:
        why_stop = "the job is paused"
    elif most is not None:
        earlier = Shard.objects.filter(job=claim.job_id, state=Shard.State.RUNNING, number__lt=number).count()
        why_stop = "the job may have fewer workers now" if earlier >= most else ""
    return Wishes(num_envs or int(claim.request.get("num_envs", 1)), by_slot(orders), why_stop)


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
