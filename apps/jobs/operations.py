"""Every write to a job, its shards and its events.

Workers own a shard by a lease: `claim` gives it, `heartbeat` keeps it, and every write names its token, so that who
lost the lease writes nothing. Rows are locked in one order, shards before their job, so that no two writers wait
for each other. Each change raises `Job.seq`, leaves a `JobEvent` and is published, in one transaction.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.bulk import copy_episodes
from apps.episodes.models import Batch, Episode
from apps.episodes.text import shortened, storable
from apps.jobs import estimates
from apps.jobs.errors import LeaseLost, NoExpert, NotYours, TooManyEpisodes, TooManyJobs, UnknownAgent
from apps.jobs.failpoints import failpoint
from apps.jobs.models import Job, JobEvent, Shard
from apps.live import publish
from apps.queue import enqueue
from gem.agents import has_expert
from gem.replay import EpisodeRecord
from gem.rollout import Slot
from gem.specs import EvaluationSpec

logger = logging.getLogger(__name__)

WAKE_UPS = 16
"""At most so many messages tell workers of a job: each worker goes on until nothing is left."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A shard that a worker owns while its lease lasts."""

    shard_id: int
    token: uuid.UUID
    job_id: str
    batch_id: str
    agent_id: int
    agent_kind: str
    number: int
    env_id: str
    first_slot: int
    first_seed: int
    count: int
    attempt: int
    spec: EvaluationSpec

    def slots(self) -> list[Slot]:
        """Those of its slots that no earlier attempt recorded."""
        taken = set(
            Episode.objects.filter(
                batch=self.batch_id, slot__gte=self.first_slot, slot__lt=self.first_slot + self.count
            ).values_list("slot", flat=True)
        )
        wrappers = self.spec.wrappers
        return [
            Slot(self.first_slot + i, self.env_id, self.first_seed + i, {}, wrappers)
            for i in range(self.count)
            if self.first_slot + i not in taken
        ]


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that a worker spent on playing since it last wrote."""

    busy: float = 0.0
    agent: float = 0.0
    """The part of it in which the agent decided."""


# ------------------------------------------------------------------ what people do


def submit(owner: User | None, spec: EvaluationSpec, *, name: str = "", idempotency_key: str | None = None) -> Job:
    """Queue an evaluation; the same `idempotency_key` of the same owner gives the same job.

    Raises:
        UnknownAgent, NoExpert: if there is no such agent for `owner`, or it cannot play an environment.
        TooManyEpisodes, TooManyJobs: if it is above the caps.
    """
    agent = find_agent(owner, spec.agent)
    check_can_play(agent, spec)
    if spec.episodes_total > settings.EPISODES_PER_JOB:
        raise TooManyEpisodes(
            f"A job may have {settings.EPISODES_PER_JOB:,} episodes; this one has {spec.episodes_total:,}. "
            "Choose fewer environments or fewer episodes."
        )
    if idempotency_key and (earlier := Job.objects.filter(owner=owner, idempotency_key=idempotency_key).first()):
        return earlier
    try:
        return _create(owner, agent, spec, name, idempotency_key or "")
    except IntegrityError:
        twin = Job.objects.filter(owner=owner, idempotency_key=idempotency_key or "").first()
        if twin is None:
            raise
        return twin


def find_agent(owner: User | None, slug: str) -> Agent:
    """The agent that `owner` may evaluate by that name.

    Raises:
        UnknownAgent: if there is none.
    """
    agents = Agent.objects.exclude(kind=Agent.Kind.HUMAN)
    agents = agents.filter(owner=None) if owner is None else agents.selectable_by(owner)
    agent = agents.filter(slug=slug).first()
    if agent is None:
        raise UnknownAgent(f"There is no agent {slug!r} that you can evaluate. Choose one of those listed.")
    return agent


def check_can_play(agent: Agent, spec: EvaluationSpec) -> None:
    """Return if the agent knows how to act in every environment.

    Raises:
        NoExpert: if it is the expert and there is none for one of them.
    """
    lacking = [env_id for env_id in spec.env_ids if not has_expert(env_id)] if agent.kind == Agent.Kind.EXPERT else []
    if lacking:
        raise NoExpert(f"There is no expert for {lacking[0]} yet. Leave it out, or choose another agent.")


@transaction.atomic
def _create(owner: User | None, agent: Agent, spec: EvaluationSpec, name: str, key: str) -> Job:
    if owner is not None:
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two submissions at once count each other
        waiting = Job.objects.filter(owner=owner, state=Job.State.QUEUED).count()
        if waiting >= settings.JOBS_QUEUED_PER_USER:
            raise TooManyJobs(
                f"You have {waiting} jobs waiting, as many as one person may have. "
                "Wait until one has started, or cancel one."
            )
    job = Job.objects.create(
        name=name,
        spec=spec.model_dump(mode="json"),
        owner=owner,
        agent=agent,
        batch=Batch.objects.create(kind=Batch.Kind.JOB),
        idempotency_key=key,
        episodes_total=spec.episodes_total,
    )
    shards = _shards(job, agent, spec)
    Shard.objects.bulk_create(shards)
    shard_words = "1 shard" if len(shards) == 1 else f"{len(shards)} shards"
    _change(job.pk, JobEvent.Kind.SUBMITTED, f"submitted: {spec.episodes_total:,} episodes in {shard_words}")
    job.refresh_from_db(fields=["seq"])
    _wake(job.pk, len(shards))
    return job


def _shards(job: Job, agent: Agent, spec: EvaluationSpec) -> list[Shard]:
    """The job in parts of some seconds each: consecutive slots of one environment."""
    sizes = estimates.shard_sizes(agent, spec)
    shards: list[Shard] = []
    slot = 0
    for part in spec.parts:
        for start in range(0, part.episodes, sizes[part.env_id]):
            shards.append(
                Shard(
                    job=job,
                    number=len(shards) + 1,
                    env_id=part.env_id,
                    first_slot=slot + start,
                    first_seed=part.first_seed + start,
                    count=min(sizes[part.env_id], part.episodes - start),
                    sent=Now(),
                )
            )
        slot += part.episodes
    return shards


@transaction.atomic
def cancel(job_id: str, by: User) -> Job:
    """Stop a job; what is finished stays. A job that is over stays as it is.

    Raises:
        NotYours: if `by` is neither its owner nor staff.
        Job.DoesNotExist: if there is no such job.
    """
    job = Job.objects.get(pk=job_id)
    if not job.may_be_changed_by(by):
        raise NotYours("This job belongs to somebody else: only its owner can cancel it.")
    _lock_shards(job_id)
    if _end(job_id, Job.State.CANCELLED, "", f"cancelled by {by.get_username()}", JobEvent.Tone.WARN):
        _drop_open_shards(job_id)
    return Job.objects.get(pk=job_id)


def resubmit(job_id: str, by: User, *, idempotency_key: str | None = None) -> Job:
    """Queue a new job of `by` with the same request.

    Raises:
        Job.DoesNotExist: if there is no such job.
        Refusal: as `submit`.
    """
    job = Job.objects.get(pk=job_id)
    return submit(by, EvaluationSpec.model_validate(job.spec), name=job.name, idempotency_key=idempotency_key)


# ------------------------------------------------------------------ what workers do

_IN_TURN = """
WITH owner AS (
    SELECT coalesce(job.owner_id, 0) AS id, max(job.served) AS served,
           count(DISTINCT job.id) FILTER (WHERE job.state = 'running') AS jobs,
           count(shard.id) AS shards
    FROM jobs_job job LEFT JOIN jobs_shard shard ON shard.job_id = job.id AND shard.state = 'running'
    WHERE job.state IN ('queued', 'running')
    GROUP BY 1
)
SELECT job.id, job.state, job.owner_id
FROM jobs_job job JOIN owner ON owner.id = coalesce(job.owner_id, 0)
WHERE job.state IN ('queued', 'running')
  AND EXISTS (SELECT FROM jobs_shard shard WHERE shard.job_id = job.id AND shard.state = 'queued')
  AND (job.state = 'running' OR job.owner_id IS NULL OR owner.jobs < %s)
ORDER BY owner.shards, owner.served NULLS FIRST, job.state DESC, job.created, job.id
LIMIT 20
"""
"""Jobs with work to give, those of the owner who has least of it running and waited longest first."""


def claim() -> Claim | None:
    """Take the next shard, owner by owner; None if there is nothing to do."""
    with connection.cursor() as cursor:
        cursor.execute(_IN_TURN, [settings.JOBS_RUNNING_PER_USER])
        jobs = cursor.fetchall()
    claims = (_claim_from(job_id, None if state == Job.State.RUNNING else owner_id) for job_id, state, owner_id in jobs)
    return next((claimed for claimed in claims if claimed is not None), None)


@transaction.atomic
def _claim_from(job_id: str, starts_for: int | None) -> Claim | None:
    """A shard of this job, unless others hold them all, or its owner (if it would start) has enough running."""
    if starts_for is not None and not _may_start(starts_for):
        return None
    queued = Shard.objects.filter(job=job_id, state=Shard.State.QUEUED)
    shard = queued.select_for_update(skip_locked=True).order_by("number").first()
    return None if shard is None else _lease(shard)


def _may_start(owner_id: int) -> bool:
    """Whether the owner may have another job running; workers that ask at the same time wait for each other."""
    User.objects.select_for_update(no_key=True).get(pk=owner_id)
    running = Job.objects.filter(owner=owner_id, state=Job.State.RUNNING).count()
    return running < int(settings.JOBS_RUNNING_PER_USER)


def _lease(shard: Shard) -> Claim:
    token = uuid.uuid4()
    attempt = shard.attempt + 1
    Shard.objects.filter(pk=shard.pk).update(
        state=Shard.State.RUNNING, lease_token=token, lease_until=_lease_end(), attempt=attempt
    )
    Job.objects.filter(pk=shard.job_id, state=Job.State.QUEUED).update(state=Job.State.RUNNING, started=Now())
    Job.objects.filter(pk=shard.job_id).update(served=Now())
    again = f", attempt {attempt}" if attempt > 1 else ""
    left = shard.count - shard.done
    _change(
        shard.job_id, JobEvent.Kind.CLAIMED, f"shard {shard.number} claimed: {left:,} episodes of {shard.env_id}{again}"
    )
    job = Job.objects.select_related("agent").get(pk=shard.job_id)
    return Claim(
        shard_id=shard.pk,
        token=token,
        job_id=job.pk,
        batch_id=job.batch_id,
        agent_id=job.agent_id,
        agent_kind=job.agent.kind,
        number=shard.number,
        env_id=shard.env_id,
        first_slot=shard.first_slot,
        first_seed=shard.first_seed,
        count=shard.count,
        attempt=attempt,
        spec=EvaluationSpec.model_validate(job.spec),
    )


def heartbeat(claim: Claim) -> bool:
    """Keep the lease; False if it is lost."""
    return bool(_owned(claim).update(lease_until=_lease_end()))


def holds(claim: Claim) -> bool:
    """Whether the lease is still this worker's: a look, where `heartbeat` is a write."""
    return _owned(claim).exists()


@transaction.atomic
def record_episodes(claim: Claim, records: Sequence[EpisodeRecord], spent: Spent | None = None) -> bool:
    """Write finished episodes; whether the job ended with them. The last ones of a shard finish it.

    Raises:
        LeaseLost: if the shard is no longer this worker's; nothing is written.
    """
    spent = spent or Spent()
    shard = _owned(claim).select_for_update().first()
    if shard is None:
        raise LeaseLost(f"shard {claim.number} of job {claim.job_id} is no longer ours")
    started = monotonic()
    copy_episodes(claim.batch_id, claim.agent_id, records, timezone.now())
    storing = monotonic() - started
    failpoint("copied")
    _add_up(shard, records, spent.busy + storing)
    Job.objects.filter(pk=claim.job_id).update(
        episodes_done=F("episodes_done") + len(records),
        turns_done=F("turns_done") + sum(record.turn_count for record in records),
        seconds_busy=F("seconds_busy") + spent.busy + storing,
        seconds_agent=F("seconds_agent") + spent.agent,
        seconds_storing=F("seconds_storing") + storing,
    )
    _log_recorded(shard, records)
    if shard.state != Shard.State.DONE:
        return False
    return _end_if_done(claim.job_id)


def _add_up(shard: Shard, records: Sequence[EpisodeRecord], seconds: float) -> None:
    """Add the episodes to the shard's sums, and end it with its last one."""
    counted = [record for record in records if not record.failure]
    returns = [record.total_reward for record in counted]
    shard.done += len(records)
    shard.errors += len(records) - len(counted)
    shard.won += sum(bool(record.success) for record in counted)
    shard.limited += sum(record.truncated and not record.success for record in counted)
    shard.turns += sum(record.turn_count for record in counted)
    shard.return_sum += sum(returns)
    shard.return_squares += sum(value * value for value in returns)
    shard.seconds += seconds
    if shard.done >= shard.count:
        shard.state = Shard.State.DONE
        shard.lease_token = shard.lease_until = None
    shard.save()


def _log_recorded(shard: Shard, records: Sequence[EpisodeRecord]) -> None:
    slots = [record.index for record in records]
    broken = [record for record in records if record.failure]
    tone = JobEvent.Tone.LOSS if broken else JobEvent.Tone.PLAIN
    if broken:
        first = broken[0]
        failure = storable(shortened(first.failure, 300))
        text = f"{shard.env_id} seed {first.identity.seed}: environment error, not counted: {failure}"
        if len(broken) > 1:
            text += f" (and {len(broken) - 1} more)"
    elif shard.state == Shard.State.DONE:
        counted = shard.done - shard.errors
        mean = f", mean return {shard.return_sum / counted:.3f}" if counted else ""
        text = f"shard {shard.number} done: {shard.done:,} episodes{mean}"
    else:
        text = f"shard {shard.number}: {shard.done:,} of {shard.count:,} episodes"
    _change(shard.job_id, JobEvent.Kind.EPISODES, text, tone=tone, slots=slots)


def _end_if_done(job_id: str) -> bool:
    """End the job if all its shards are done; the job's row is locked by then, so the last one notices."""
    if Shard.objects.filter(job=job_id).exclude(state=Shard.State.DONE).exists():
        return False
    return _end(job_id, Job.State.DONE, "", "all episodes are done")


@transaction.atomic
def release(claim: Claim) -> None:
    """Give the shard back, because this worker stops; it costs no attempt."""
    given = _owned(claim).update(
        state=Shard.State.QUEUED, lease_token=None, lease_until=None, attempt=F("attempt") - 1, sent=Now()
    )
    if given:
        _change(claim.job_id, JobEvent.Kind.REQUEUED, f"shard {claim.number} given back: its worker is stopping")
        _wake(claim.job_id)


@transaction.atomic
def fail_shard(claim: Claim, reason: str) -> None:
    """Try the shard again, or end the job as failed after the last attempt; nothing if the lease is lost."""
    _lock_shards(claim.job_id)
    shard = _owned(claim).first()
    if shard is not None:
        _fail_attempt(shard, reason)


def _fail_attempt(shard: Shard, reason: str) -> None:
    """What happens to a shard (locked, with all of its job) whose attempt failed."""
    if shard.attempt < settings.MAX_ATTEMPTS:
        Shard.objects.filter(pk=shard.pk).update(
            state=Shard.State.QUEUED, lease_token=None, lease_until=None, reason=reason, sent=Now()
        )
        text = f"shard {shard.number} will be tried again ({shard.attempt} of {settings.MAX_ATTEMPTS}): {reason}"
        _change(shard.job_id, JobEvent.Kind.REQUEUED, text, tone=JobEvent.Tone.WARN)
        _wake(shard.job_id)
        return
    Shard.objects.filter(pk=shard.pk).update(
        state=Shard.State.FAILED, lease_token=None, lease_until=None, reason=reason
    )
    sentence = (
        f"Shard {shard.number} ({shard.env_id}, seeds from {shard.first_seed}) failed {shard.attempt} times. "
        f"The last time: {reason}"
    )
    if _end(shard.job_id, Job.State.FAILED, sentence, sentence, JobEvent.Tone.LOSS):
        _drop_open_shards(shard.job_id)


# ------------------------------------------------------------------ what the reaper does


def reap() -> int:
    """Take back shards whose lease ran out, and send again what nobody picked up; the number taken back."""
    expired = list(Shard.objects.filter(state=Shard.State.RUNNING, lease_until__lt=Now()).values_list("pk", "job_id"))
    taken = sum(_take_back(shard_id, job_id) for shard_id, job_id in expired)
    send_again()
    return taken


@transaction.atomic
def _take_back(shard_id: int, job_id: str) -> bool:
    _lock_shards(job_id)
    shard = Shard.objects.filter(pk=shard_id, state=Shard.State.RUNNING, lease_until__lt=Now()).first()
    if shard is None:  # its worker was heard of, or another reaper was faster
        return False
    logger.warning("job %s shard %s: lease expired in attempt %s", job_id, shard.number, shard.attempt)
    _fail_attempt(shard, "its worker stopped answering")
    return True


@transaction.atomic
def send_again() -> int:
    """Wake workers for shards that nobody picked up for a lease's time; the number of messages."""
    waiting = Shard.objects.filter(
        state=Shard.State.QUEUED,
        job__state__in=[Job.State.QUEUED, Job.State.RUNNING],
        sent__lt=Now() - timedelta(seconds=settings.LEASE_SECONDS),
    )
    shards = list(waiting.select_for_update(of=("self",), skip_locked=True).values_list("pk", "job_id"))
    Shard.objects.filter(pk__in=[pk for pk, _ in shards]).update(sent=Now())
    for _, job_id in shards[:WAKE_UPS]:
        _wake(job_id)
    return min(len(shards), WAKE_UPS)


# ------------------------------------------------------------------ parts of the above


def _owned(claim: Claim) -> QuerySet[Shard]:
    return Shard.objects.filter(pk=claim.shard_id, lease_token=claim.token, state=Shard.State.RUNNING)


def _lease_end() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


def _lock_shards(job_id: str) -> None:
    """Lock all shards of a job, in the order that everybody locks them in."""
    list(Shard.objects.select_for_update().filter(job=job_id).order_by("pk").values_list("pk"))


def _drop_open_shards(job_id: str) -> None:
    """Cancel the shards of a job that are not over (locked); workers notice by their lease."""
    Shard.objects.filter(job=job_id, state__in=[Shard.State.QUEUED, Shard.State.RUNNING]).update(
        state=Shard.State.CANCELLED, lease_token=None, lease_until=None
    )


def _end(job_id: str, state: Job.State, reason: str, text: str, tone: JobEvent.Tone = JobEvent.Tone.PLAIN) -> bool:
    """Move a job that is not over to its last state; whether it was this call that did it."""
    ended = Job.objects.active().filter(pk=job_id).update(state=state, reason=reason, ended=Now())
    if ended:
        _change(job_id, JobEvent.Kind.ENDED, text, tone=tone)
    return bool(ended)


def _change(
    job_id: str,
    kind: JobEvent.Kind,
    text: str,
    *,
    tone: JobEvent.Tone = JobEvent.Tone.PLAIN,
    slots: Sequence[int] = (),
) -> None:
    """Raise the job's `seq`, write down why, and tell the pages that watch it."""
    Job.objects.filter(pk=job_id).update(seq=F("seq") + 1)
    seq = Job.objects.values_list("seq", flat=True).get(pk=job_id)
    JobEvent.objects.create(job_id=job_id, seq=seq, kind=kind, tone=tone, text=text, slots=list(slots))
    publish(f"job:{job_id}", seq)


def _wake(job_id: str, messages: int = 1) -> None:
    for _ in range(min(messages, WAKE_UPS)):
        enqueue("evaluate.shards", job_id)
