"""Shards that workers claim, keep, and give back.

A worker owns a shard by a lease: `claim` takes it, `heartbeat` keeps it, and every write checks its token, so that a
worker that lost the lease writes nothing. Further shards of the same job have the same token (`claim_another`).
`recording.py` stores what was played, `setbacks.py` says what follows a failure, and `recovery.py` takes back the
shards whose leases expired.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q
from django.db.models.functions import Coalesce, Greatest, Now
from pydantic import ValidationError

from apps.accounts import quotas
from apps.accounts.models import User
from apps.admission.counting import one_at_a_time
from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.holders import new_token
from apps.jobs import admission
from apps.jobs.books.store import JobStore
from apps.jobs.books.turns import JobTurns
from apps.jobs.changes import change, end, lock_shards, wake
from apps.jobs.decisions.looks import last_look
from apps.jobs.leases import error_share
from apps.jobs.models import Job, JobBooks, JobEvent, Shard
from apps.leases import LeasedQuerySet
from apps.seasons.models import Season
from apps.seasons.numbers import is_hidden, read
from apps.seasons.operations import seeds_by_number
from gem.agents.endpoint.ledger import Limits
from gem.errors import InvalidArgument
from gem.evaluation.spec import EvaluationPart, EvaluationSpec
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest
from gem.validation.messages import count, error_sentence


@dataclass(frozen=True)
class Claim:
    """A shard that a worker owns while its lease lasts."""

    shard_id: int
    token: uuid.UUID
    job_id: str
    owner_id: int | None
    """Whose CPU seconds it uses."""
    batch_id: str
    agent: Agent
    set_up: dict[str, Any] | None
    """The agent's set-up when the job was submitted."""
    opponent: Agent | None
    """The agent in the other seats; None where there is one seat."""
    number: int
    env_id: str
    first_slot: int
    first_seed: int
    count: int
    attempt: int
    request: Mapping[str, Any]
    """`Job.spec`."""
    num_envs: int
    """Episodes to play at a time, when the shard was claimed."""
    orders: Mapping[int, str]
    """`Shard.orders` by slot, when the shard was claimed."""
    begins_after: int
    """Of a training that is a fork: the update of the checkpoint that it continues from; otherwise 0."""

    @cached_property
    def spec(self) -> EvaluationSpec:
        """The request of an evaluation.

        Raises:
            InvalidArgument: if it cannot be played here, for example because an environment is gone.
        """
        try:
            return EvaluationSpec.model_validate(self.request)
        except ValidationError as error:
            raise InvalidArgument(error_sentence(error, EvaluationSpec)) from error

    def books(self, held: Callable[[], Sequence[Claim]] | None = None) -> JobStore:
        """The books of the job, for requests that are sent while a lease holds.

        Args:
            held: the claims of the worker, if it has several shards of the job.
        """
        limits = Limits(self.spec.token_budget, self.spec.exact_money_budget)
        claims = held or (lambda: [self])
        return JobStore(self.job_id, lambda: [claim.shard_id for claim in claims()], self.token, limits)

    @property
    def turns(self) -> JobTurns | None:
        """The turn budget of the job, for all its workers; None if it has none."""
        return None if self.spec.turn_budget is None else JobTurns(self.job_id, self.spec.turn_budget)

    @cached_property
    def slots_of_shard(self) -> range:
        """The slots of this shard, recorded or not."""
        return range(self.first_slot, self.first_slot + self.count)

    def slots(self) -> list[EpisodeRequest]:
        """The slots of this shard that no earlier attempt recorded."""
        recorded_slots = set(
            Episode.objects.filter(
                batch=self.batch_id, slot__gte=self.first_slot, slot__lt=self.first_slot + self.count
            ).values_list("slot", flat=True)
        )
        part = EvaluationPart(self.env_id, self.first_seed, self.count)
        repeat, wrappers = self.spec.repeat_of(self.first_slot), self.spec.all_wrappers
        requests = []
        for index in range(self.count):
            if self.first_slot + index not in recorded_slots:
                number, seat = part.seed_and_seat(index)
                seed = self.hidden_seeds.get(number, number)
                requests.append(EpisodeRequest(self.first_slot + index, self.env_id, seed, {}, wrappers, seat, repeat))
        return requests

    def hide_seed(self, record: EpisodeRecord) -> EpisodeRecord:
        """Put the number that stands for a hidden seed in its place, before anything about the record is stored."""
        if self.hidden_seeds and not is_hidden(record.identity.seed):
            part = EvaluationPart(self.env_id, self.first_seed, self.count)
            number, _ = part.seed_and_seat(record.index - self.first_slot)
            record.identity = replace(record.identity, seed=number)
        return record

    @cached_property
    def hidden_seeds(self) -> Mapping[int, int]:
        """The seeds of the environment by the numbers that stand for them; empty if its seeds are not hidden."""
        if not is_hidden(self.first_seed):
            return {}
        season_id, submission, _ = read(self.first_seed)
        return seeds_by_number(Season.objects.get(pk=season_id), self.env_id, submission)


ATTEMPTS_BEFORE = Greatest(F("attempt") - 1, 0)
"""The attempts without the present one."""

_RESTED = Q(rests_until=None) | Q(rests_until__lte=Now())
"""For queries of shards: whether they need not wait after a fault of the infrastructure, or no longer."""


def claim(kind: Job.Kind = Job.Kind.EVALUATION) -> Claim | None:
    """Claim the next shard of a job of this kind, of each person in turn (`admission`); None if there is none.

    Workers claim one after the other. If two looked at the same moment, both would serve the same person, and such
    chances add up.
    """
    with transaction.atomic():
        one_at_a_time("claims", kind.value)
        claims = (_claim_from(candidate, kind) for candidate in admission.next_jobs(kind))
        return next((claimed for claimed in claims if claimed is not None), None)


@transaction.atomic
def _claim_from(candidate: admission.Candidate, kind: Job.Kind) -> Claim | None:
    """Claim a shard of this job; None if no shard is free, or if the job may not start yet."""
    if candidate.starts and candidate.owner_id is not None and not _may_start(candidate.owner_id, kind):
        return None
    return _claim_shard(candidate.job_id, candidate.owner_id, kind, new_token())


@transaction.atomic
def claim_another(held: Claim, *, before_own_jobs: bool) -> Claim | None:
    """Claim a further shard of the evaluation that this worker plays; None if there is none, or somebody is before it.

    It has the same token, so all shards of the worker count as one of its owner and of its job.

    Args:
        before_own_jobs: whether other jobs of the same person wait meanwhile, if they are not more urgent.
    """
    one_at_a_time("claims", Job.Kind.EVALUATION.value)
    if not admission.goes_on(held.job_id, held.owner_id, before_own_jobs=before_own_jobs):
        return None
    return _claim_shard(held.job_id, held.owner_id, Job.Kind.EVALUATION, held.token)


def has_more(claim: Claim) -> bool:
    """Whether further shards of the job wait for workers."""
    return Shard.objects.filter(_RESTED, job=claim.job_id, state=Shard.State.QUEUED).exists()


def _claim_shard(job_id: str, owner_id: int | None, kind: Job.Kind, token: uuid.UUID) -> Claim | None:
    """Claim the next shard of a job; None if no shard is free, or the job has its workers."""
    waits = Q(job=job_id, job__state__in=[Job.State.QUEUED, Job.State.RUNNING], state=Shard.State.QUEUED)
    queued = Shard.objects.filter(waits).filter(_RESTED).order_by("number")
    claimed = queued.claim(token, 1, state=Shard.State.RUNNING)
    if not claimed:
        return None
    if _is_one_too_many(job_id):
        transaction.set_rollback(True)
        return None
    admission.note(kind.value, owner_id)
    return _start_shard(Shard.objects.get(pk=claimed[0]), token)


def _may_start(owner_id: int, kind: Job.Kind) -> bool:
    """Whether the owner may have another running job of this kind. A lock makes concurrent workers wait."""
    owner = User.objects.select_for_update(no_key=True).get(pk=owner_id)
    limit = quotas.limit_of(owner, quotas.JOBS_RUNNING)
    running = Job.objects.filter(owner=owner, state=Job.State.RUNNING, kind=kind).count()
    return limit is None or running < limit


def _is_one_too_many(job_id: str) -> bool:
    """Whether the shard that was just claimed exceeds the workers that the job may have.

    A lock makes concurrent workers wait.
    """
    most = Job.objects.select_for_update(no_key=True).values_list("max_workers", flat=True).get(pk=job_id)
    running = Shard.objects.filter(job=job_id, state=Shard.State.RUNNING)
    return most is not None and running.aggregate(workers=Count("lease_token", distinct=True))["workers"] > most


def _start_shard(shard: Shard, token: uuid.UUID) -> Claim:
    """Mark the job of a shard that was just claimed as running, and return the claim for the worker."""
    Job.objects.filter(pk=shard.job_id, state=Job.State.QUEUED).update(
        state=Job.State.RUNNING, started=Coalesce(F("started"), Now())
    )
    Job.objects.filter(pk=shard.job_id).update(served=Now())
    job = Job.objects.select_related("agent").get(pk=shard.job_id)
    change(
        shard.job_id,
        JobEvent.Kind.CLAIMED,
        _describe_claim(job, shard) + (f", attempt {shard.attempt}" if shard.attempt > 1 else ""),
        data={
            "shard": shard.number,
            "env_id": shard.env_id,
            "episodes": shard.count - shard.done,
            "attempt": shard.attempt,
        },
    )
    slug = job.spec.get("opponent")
    opponent = Agent.objects.get(slug=slug) if slug else None
    return Claim(
        shard_id=shard.pk,
        token=token,
        job_id=job.pk,
        owner_id=job.owner_id,
        batch_id=job.batch_id,
        agent=job.agent,
        set_up=job.set_up,
        opponent=opponent,
        number=shard.number,
        env_id=shard.env_id,
        first_slot=shard.first_slot,
        first_seed=shard.first_seed,
        count=shard.count,
        attempt=shard.attempt,
        request=job.spec,
        num_envs=job.episodes_at_a_time,
        orders=by_slot(shard.orders),
        begins_after=job.parent_update,
    )


def by_slot(orders: Mapping[str, str]) -> dict[int, str]:
    """`Shard.orders` with numbers as keys, which JSON does not have."""
    return {int(slot): order for slot, order in orders.items()}


def _describe_claim(job: Job, shard: Shard) -> str:
    left = shard.count - shard.done
    if job.kind == Job.Kind.TRAINING:
        return f"a worker starts: {left:,} updates to go"
    episodes = count(left, "episode")
    return f"shard {shard.number} claimed: {episodes} of {shard.env_id}"


def heartbeat(*claims: Claim) -> bool:
    """Renew the leases of one worker. Returns False if all are lost."""
    return bool(owned(*claims).renew())


def holds(claim: Claim) -> bool:
    """Whether the worker still holds the lease. Only reads, while `heartbeat` writes."""
    return owned(claim).exists()


def end_if_done(job_id: str, text: str) -> bool:
    """End the job if all its shards are over or skipped. Returns whether it has ended with all its episodes.

    The caller has locked the job's row or all shards, so exactly one worker ends it.
    """
    shards = Shard.objects.filter(job=job_id, skipped=False).order_by()
    states = set(shards.values_list("state", flat=True).distinct())
    if states - {Shard.State.DONE} == {Shard.State.STOPPED}:
        reason = JobBooks.objects.values_list("refusal", flat=True).get(pk=job_id)
        end(job_id, Job.State.STOPPED, reason, f"stopped by its budget. {reason}", JobEvent.Tone.WARN)
        return False
    if states - {Shard.State.DONE}:
        return False
    if problem := error_share.verdict(job_id):
        return end(job_id, Job.State.FAILED, problem, problem, JobEvent.Tone.LOSS)
    said = last_look(job_id)
    return end(job_id, Job.State.DONE, "", f"{text}. {said}" if said else text)


@transaction.atomic
def release(claim: Claim, why: str = "its worker is stopping") -> None:
    """Return the shard to the queue, because this worker stops. This does not count as an attempt."""
    released = owned(claim).release(state=Shard.State.QUEUED, attempt=ATTEMPTS_BEFORE, sent=Now())
    if released:
        text = f"shard {claim.number} returned to the queue: {why}"
        change(claim.job_id, JobEvent.Kind.REQUEUED, text, data={"shard": claim.number, "reason": why})
        wake(claim.job_id)


def release_to_play_again(claim: Claim) -> None:
    """Return the shard to the queue if it has episodes to play: a retry has emptied slots while it was played.

    With none, its count of episodes is wrong. Then its lease expires, which counts as an attempt, so that workers do
    not claim it without end.
    """
    if claim.slots():
        release(claim, "it has episodes to play again")


@transaction.atomic
def give_way(claim: Claim) -> None:
    """Return the shard to the queue, because somebody else waits. Its owner is served after them."""
    job = Job.objects.only("kind", "owner_id").get(pk=claim.job_id)
    release(claim, "somebody else is served in between")
    admission.note(job.kind, job.owner_id)


@transaction.atomic
def stop_over_budget(claim: Claim, reason: str) -> None:
    """Give the shard up, because the budget of its job is used up. Finished episodes are kept.

    Nobody begins another shard of the job. It ends when no worker plays for it any more, so that the answers that are
    under way are still booked as they arrive. Does nothing if the lease is lost.
    """
    lock_shards(claim.job_id)
    if not owned(claim).release(state=Shard.State.STOPPED, reason=reason):
        return
    Shard.objects.filter(job=claim.job_id, state=Shard.State.QUEUED).release(state=Shard.State.STOPPED)
    end_if_done(claim.job_id, "")


def owned(*claims: Claim) -> LeasedQuerySet[Shard]:
    """The claimed shards of one worker, without those that were taken back. Every write of a worker starts from this.

    Token and state are the fence, not the time: a late worker still owns its shard until somebody takes it back.
    """
    keys = [claim.shard_id for claim in claims]
    return Shard.objects.filter(pk__in=keys, lease_token=claims[0].token, state=Shard.State.RUNNING)
