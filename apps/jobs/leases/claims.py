"""The operations of workers on jobs: claim shards, keep them, record their episodes, and give them back.

A worker owns a shard by a lease: `claim` takes it, `heartbeat` keeps it, and every write checks its token, so that a
worker that lost the lease writes nothing. `setbacks.py` says what follows a failure, and `recovery.py` takes back the
shards whose leases expired.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Greatest, Now
from django.utils import timezone

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.bulk import copy_episodes
from apps.episodes.closing import WHY_CLOSED
from apps.episodes.models import Episode
from apps.episodes.text import shortened, storable
from apps.failpoints import failpoint
from apps.holders import new_token
from apps.jobs import admission
from apps.jobs.books.store import JobStore
from apps.jobs.changes import change, end, lock_shards, wake
from apps.jobs.decisions.looks import last_look
from apps.jobs.leases import error_share, faults
from apps.jobs.models import Job, JobBooks, JobEvent, Shard
from apps.leases import LeasedQuerySet, LeaseLost
from apps.seasons.models import Season
from apps.seasons.numbers import in_words, is_hidden, read
from apps.seasons.operations import seeds_by_number
from gem.agents.endpoint.ledger import Limits
from gem.evaluation.spec import EvaluationPart, EvaluationSpec
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest

logger = logging.getLogger(__name__)

CANCELLED = "A person cancelled it."
"""The failure of an episode that a person cancelled while it was played."""


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
        """The request of an evaluation."""
        return EvaluationSpec.model_validate(self.request)

    def books(self) -> JobStore:
        """The books of the job, for requests that are sent while the lease holds."""
        limits = Limits(self.spec.token_budget, self.spec.exact_money_budget)
        return JobStore(self.job_id, self.shard_id, self.token, limits)

    def slots(self) -> list[EpisodeRequest]:
        """The slots of this shard that no earlier attempt recorded."""
        recorded_slots = set(
            Episode.objects.filter(
                batch=self.batch_id, slot__gte=self.first_slot, slot__lt=self.first_slot + self.count
            ).values_list("slot", flat=True)
        )
        part = EvaluationPart(self.env_id, self.first_seed, self.count)
        return [self._slot(part, i) for i in range(self.count) if self.first_slot + i not in recorded_slots]

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

    def _slot(self, part: EvaluationPart, index: int) -> EpisodeRequest:
        number, seat = part.seed_and_seat(index)
        seed = self.hidden_seeds.get(number, number)
        repeat = self.spec.repeat_of(self.first_slot)
        return EpisodeRequest(self.first_slot + index, self.env_id, seed, {}, self.spec.all_wrappers, seat, repeat)


@dataclass(frozen=True, slots=True)
class WorkerSeconds:
    """Seconds that a worker spent on playing since it last wrote."""

    busy: float = 0.0
    agent: float = 0.0
    """The part of `busy` in which the agent chose its actions."""


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
        admission.wait_for_turn(kind)
        claims = (_claim_from(candidate, kind) for candidate in admission.next_jobs(kind))
        return next((claimed for claimed in claims if claimed is not None), None)


@transaction.atomic
def _claim_from(candidate: admission.Candidate, kind: Job.Kind) -> Claim | None:
    """Claim a shard of this job; None if no shard is free, or if the job may not start yet."""
    if candidate.starts and candidate.owner_id is not None and not _may_start(candidate.owner_id, kind):
        return None
    waits = Q(job=candidate.job_id, job__state__in=[Job.State.QUEUED, Job.State.RUNNING], state=Shard.State.QUEUED)
    queued = Shard.objects.filter(waits).filter(_RESTED).order_by("number")
    token = new_token()
    claimed = queued.claim(token, 1, state=Shard.State.RUNNING)
    if not claimed:
        return None
    if _is_one_too_many(candidate.job_id):
        transaction.set_rollback(True)
        return None
    admission.note(kind.value, candidate.owner_id)
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
    return most is not None and Shard.objects.filter(job=job_id, state=Shard.State.RUNNING).count() > most


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
    return f"shard {shard.number} claimed: {left:,} episodes of {shard.env_id}"


def heartbeat(claim: Claim) -> bool:
    """Renew the lease. Returns False if it is lost."""
    return bool(owned(claim).renew())


def holds(claim: Claim) -> bool:
    """Whether the worker still holds the lease. Only reads, while `heartbeat` writes."""
    return owned(claim).exists()


@transaction.atomic
def record_episodes(
    claim: Claim,
    records: Sequence[EpisodeRecord],
    worker_seconds: WorkerSeconds | None = None,
    notes: Sequence[str] = (),
) -> bool:
    """Store finished episodes. Returns whether the job ended with them.

    Args:
        notes: sentences about them for the log of the job.

    Raises:
        LeaseLost: if another worker owns the shard, or its job has ended. Nothing is written then.
    """
    worker_seconds = worker_seconds or WorkerSeconds()
    records = [claim.hide_seed(record) for record in records]
    shard = owned(claim).select_for_update().first()
    if shard is None:
        raise LeaseLost(f"shard {claim.number} of job {claim.job_id} is no longer ours")
    started = monotonic()
    opponent_id = claim.opponent.pk if claim.opponent else None
    copy_episodes(claim.batch_id, claim.agent.pk, records, timezone.now(), of_job=True, opponent_id=opponent_id)
    storing = monotonic() - started
    failpoint("copied")
    _add_to_sums(shard, records, worker_seconds.busy + storing)
    Job.objects.filter(pk=claim.job_id).update(
        episodes_done=F("episodes_done") + len(records),
        turns_done=F("turns_done") + sum(record.turn_count for record in records),
        seconds_busy=F("seconds_busy") + worker_seconds.busy + storing,
        seconds_agent=F("seconds_agent") + worker_seconds.agent,
        seconds_storing=F("seconds_storing") + storing,
    )
    for note in notes:
        change(shard.job_id, JobEvent.Kind.EPISODES, storable(shortened(note, 400)), tone=JobEvent.Tone.WARN)
    _log_recorded(shard, records)
    if shard.state != Shard.State.DONE:
        return False
    return end_if_done(claim.job_id, "all episodes are done")


def _add_to_sums(shard: Shard, records: Sequence[EpisodeRecord], seconds: float) -> None:
    """Add the episodes to the shard's sums, which is progress. The last episode ends the shard."""
    counted = [record for record in records if not record.failure]
    returns = [record.total_reward for record in counted]
    shard.done += len(records)
    shard.errors += len(records) - len(counted)
    shard.unanswered += sum(record.failed_by == "agent" for record in records)
    shard.cancelled += sum(record.failure == CANCELLED for record in records)
    if shard.orders:
        recorded_slots = {str(record.index) for record in records}
        shard.orders = {slot: order for slot, order in shard.orders.items() if slot not in recorded_slots}
    shard.tokens_in += sum(record.tokens[0] for record in records)
    shard.tokens_out += sum(record.tokens[1] for record in records)
    shard.won += sum(bool(record.success) for record in counted)
    shard.limited += sum(record.truncated and not record.success for record in counted)
    shard.turns += sum(record.turn_count for record in counted)
    shard.return_sum += sum(returns)
    shard.return_squares += sum(value * value for value in returns)
    faults.add_to(shard, records)
    shard.seconds += seconds
    note_progress(shard)
    if shard.done >= shard.count:
        shard.state = Shard.State.DONE
        shard.let_go()
    shard.save()


def note_progress(shard: Shard) -> None:
    """Count attempts and setbacks anew, because a shard made progress. The caller saves the row."""
    shard.attempt, shard.setbacks = 1, 0


def _log_recorded(shard: Shard, records: Sequence[EpisodeRecord]) -> None:
    slots = [record.index for record in records]
    failures = [record for record in records if record.failure]
    tone = JobEvent.Tone.LOSS if failures else JobEvent.Tone.PLAIN
    if failures:
        first = failures[0]
        failure = WHY_CLOSED if is_hidden(first.identity.seed) else storable(shortened(first.failure, 300))
        cause = "no answer from the agent" if first.failed_by == "agent" else "environment error"
        cause = "dropped" if first.failure == CANCELLED else f"{cause}, not counted"
        text = f"{shard.env_id} seed {in_words(first.identity.seed)}: {cause}: {failure}"
        if len(failures) > 1:
            text += f" (and {len(failures) - 1} more)"
    elif shard.state == Shard.State.DONE:
        counted = shard.done - shard.errors
        mean = f", mean return {shard.return_sum / counted:.3f}" if counted else ""
        text = f"shard {shard.number} done: {shard.done:,} episodes{mean}"
    else:
        text = f"shard {shard.number}: {shard.done:,} of {shard.count:,} episodes"
    change(shard.job_id, JobEvent.Kind.EPISODES, text, tone=tone, slots=slots)


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


def owned(claim: Claim) -> LeasedQuerySet[Shard]:
    """The claimed shard, or nothing if the claim was taken back. Every write of a worker starts from this query.

    Token and state are the fence, not the time: a late worker still owns its shard until somebody takes it back.
    """
    return Shard.objects.filter(pk=claim.shard_id, lease_token=claim.token, state=Shard.State.RUNNING)
