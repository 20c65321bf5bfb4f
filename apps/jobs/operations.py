"""The operations of people on jobs: submit, cancel, and submit again."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.agents.models import Agent, Endpoint
from apps.episodes.models import Batch
from apps.jobs import estimates
from apps.jobs.changes import change, drop_open_shards, end, lock_shards, wake
from apps.jobs.errors import NoExpert, NoLimits, NotYours, OldBenchmark, TooManyEpisodes, TooManyJobs, UnknownAgent
from apps.jobs.models import Checkpoint, Job, JobEvent, Shard
from apps.live import recheck_access
from apps.visibility import Visibility, narrower
from gem.agents import has_expert
from gem.agents.endpoint import EndpointSpec
from gem.agents.endpoint.amounts import check_limits
from gem.errors import UsageError
from gem.evaluation.spec import EvaluationSpec


def submit(
    owner: User | None,
    spec: EvaluationSpec,
    *,
    name: str = "",
    idempotency_key: str | None = None,
    checkpoint: Checkpoint | None = None,
    visibility: str = "",
) -> Job:
    """Queue an evaluation. A second call with the same owner and `idempotency_key` returns the same job.

    Args:
        checkpoint: the checkpoint that a training wants evaluated, so that the training's page shows the job.
        visibility: who may see it; if empty, what the account of the owner says.

    Raises:
        UnknownAgent, NoExpert, NoLimits: see `check_players`.
        OldBenchmark: if the benchmark has another version now.
        TooManyEpisodes, TooManyJobs: if it exceeds the limits.
    """
    if not spec.is_current:
        raise OldBenchmark(
            f"This request is for version {spec.benchmark_version} of the benchmark {spec.benchmark}, which has "
            "changed since. Submit a new job with the current version."
        )
    agent = check_players(owner, spec)
    if spec.episodes_total > settings.EPISODES_PER_JOB:
        raise TooManyEpisodes(
            f"A job may have at most {settings.EPISODES_PER_JOB:,} episodes; this one has {spec.episodes_total:,}. "
            "Choose fewer environments or episodes."
        )
    if idempotency_key and (existing_job := Job.objects.filter(owner=owner, idempotency_key=idempotency_key).first()):
        return existing_job
    try:
        return _create(owner, agent, spec, name, idempotency_key or "", checkpoint, visibility)
    except IntegrityError:
        existing_job = Job.objects.filter(owner=owner, idempotency_key=idempotency_key or "").first()
        if existing_job is None:
            raise
        return existing_job


def find_agent(owner: User | None, slug: str) -> Agent:
    """The agent with this slug, if `owner` may evaluate it.

    Raises:
        UnknownAgent: if there is none.
    """
    agents = Agent.objects.exclude(kind=Agent.Kind.HUMAN)
    agents = agents.filter(owner=None) if owner is None else agents.selectable_by(owner)
    agent = agents.filter(slug=slug).first()
    if agent is None:
        raise UnknownAgent(f"There is no agent {slug!r} that you can evaluate. Choose one from the list.")
    return agent


def check_players(owner: User | None, spec: EvaluationSpec) -> Agent:
    """Check that the agent and its opponent can play all environments, and return the agent.

    Raises:
        UnknownAgent: if `owner` may not use one of them.
        NoExpert: if one of them is the expert, which does not know an environment.
        NoLimits: if the budgets of the job cannot be kept with one of them.
    """
    agent = find_agent(owner, spec.agent)
    check_can_play(agent, spec.env_ids)
    players = [agent]
    if spec.opponent is not None:
        players.append(find_agent(owner, spec.opponent))
        check_can_play(players[1], spec.multi_seat_env_ids)
    if spec.limits_tokens:
        for player in players:
            _check_limits(player, limits_money=spec.money_budget is not None)
    return agent


def _check_limits(agent: Agent, *, limits_money: bool) -> None:
    """Check that a budget can be kept with this agent.

    Raises:
        NoLimits: if its answers have no limit, or a budget of money meets an agent without prices.
    """
    if agent.kind != Agent.Kind.ENDPOINT:
        return
    endpoint = Endpoint.objects.filter(agent=agent).first()
    if endpoint is None:
        return
    try:
        check_limits(EndpointSpec.model_validate(endpoint.spec), limits_money=limits_money, name=agent.name)
    except UsageError as error:
        raise NoLimits(str(error)) from error


def check_can_play(agent: Agent, env_ids: Iterable[str]) -> None:
    """Check that the agent can play every one of these environments.

    Raises:
        NoExpert: if it is the expert, which does not know one of them.
    """
    missing = [env_id for env_id in env_ids if not has_expert(env_id)] if agent.kind == Agent.Kind.EXPERT else []
    if missing:
        raise NoExpert(f"There is no expert for {missing[0]} yet. Leave it out, or choose another agent.")


@transaction.atomic
def _create(
    owner: User | None,
    agent: Agent,
    spec: EvaluationSpec,
    name: str,
    key: str,
    checkpoint: Checkpoint | None,
    visibility: str,
) -> Job:
    if owner is not None:
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent submissions count each other
        if problem := quotas.refusal(owner, quotas.JOBS_QUEUED):
            raise TooManyJobs(problem)
    job = Job.objects.create(
        name=name,
        spec=spec.model_dump(mode="json"),
        owner=owner,
        agent=agent,
        set_up=agent.set_up,
        batch=Batch.objects.create(kind=Batch.Kind.JOB, visibility=visibility or default_visibility(owner)),
        idempotency_key=key,
        episodes_total=spec.episodes_total,
        parent=checkpoint.job if checkpoint else None,
        parent_update=checkpoint.update if checkpoint else 0,
    )
    shards = _plan_shards(job, agent, spec)
    Shard.objects.bulk_create(shards)
    shard_words = "1 shard" if len(shards) == 1 else f"{len(shards)} shards"
    change(job.pk, JobEvent.Kind.SUBMITTED, f"submitted: {spec.episodes_total:,} episodes in {shard_words}")
    job.refresh_from_db(fields=["seq"])
    wake(job.pk, len(shards))
    return job


def _plan_shards(job: Job, agent: Agent, spec: EvaluationSpec) -> list[Shard]:
    """The job in shards of some seconds each: consecutive slots of one environment, with all seats of a seed."""
    sizes = estimates.shard_sizes(agent, spec)
    shards: list[Shard] = []
    slot = 0
    for part in spec.parts:
        size = sizes[part.env_id] + -sizes[part.env_id] % part.seats
        for start in range(0, part.episodes, size):
            shards.append(
                Shard(
                    job=job,
                    number=len(shards) + 1,
                    env_id=part.env_id,
                    first_slot=slot + start,
                    first_seed=part.seed_and_seat(start)[0],
                    count=min(size, part.episodes - start),
                    sent=Now(),
                )
            )
        slot += part.episodes
    return shards


@transaction.atomic
def cancel(job_id: str, by: User) -> Job:
    """Cancel a job. Finished episodes are kept. A job that has ended stays as it is.

    Raises:
        NotYours: if `by` is neither its owner nor staff.
        Job.DoesNotExist: if there is no such job.
    """
    job = Job.objects.get(pk=job_id)
    if not job.may_be_changed_by(by):
        raise NotYours("This job belongs to somebody else. Only its owner can cancel it.")
    lock_shards(job_id)
    if end(job_id, Job.State.CANCELLED, "", f"cancelled by {by.get_username()}", JobEvent.Tone.WARN):
        drop_open_shards(job_id)
    return Job.objects.get(pk=job_id)


@transaction.atomic
def resume(job_id: str, by: User) -> Job:
    """Continue an evaluation that a restore has paused, after its last episode. Others stay as they are.

    Raises:
        NotYours: if `by` is neither its owner nor staff.
        UnknownAgent: if an agent is no longer available to the owner.
        Job.DoesNotExist: if there is no such evaluation.
    """
    lock_shards(job_id)
    job = Job.objects.evaluations().get(pk=job_id)
    if not job.may_be_changed_by(by):
        raise NotYours("This job belongs to somebody else. Only its owner can resume it.")
    for slug in filter(None, (job.spec["agent"], job.spec.get("opponent"))):
        find_agent(job.owner, slug)
    if Job.objects.filter(pk=job_id, state=Job.State.PAUSED).update(state=Job.State.QUEUED, reason=""):
        shards = Shard.objects.filter(job=job_id, state=Shard.State.PAUSED)
        queued = shards.update(state=Shard.State.QUEUED, sent=Now(), attempt=0, setbacks=0, rests_until=None)
        change(job_id, JobEvent.Kind.RESUMED, f"resumed by {by.get_username()}")
        wake(job_id, queued)
    return Job.objects.get(pk=job_id)


def resubmit(job_id: str, by: User, *, idempotency_key: str | None = None) -> Job:
    """Queue a new job of `by` with the same request. It is as closed as that one, or as the account of `by` says.

    Raises:
        Job.DoesNotExist: if there is no such job.
        JobRefusal: as `submit`.
    """
    job = Job.objects.select_related("batch").get(pk=job_id)
    return submit(
        by,
        EvaluationSpec.model_validate(job.spec),
        name=job.name,
        idempotency_key=idempotency_key,
        visibility=narrower(job.visibility, default_visibility(by)),
    )


@transaction.atomic
def set_visibility(job: Job, visibility: Visibility) -> None:
    """Change who may see a job, its episodes and its scores; of a training, also its agent and its checkpoints."""
    batch = Batch.objects.select_for_update(no_key=True).get(pk=job.batch_id)  # so that a new checkpoint waits for this
    batch.visibility = visibility
    batch.save(update_fields=["visibility"])
    recheck_access(f"job:{job.pk}")
    if job.kind == Job.Kind.TRAINING:
        own = Q(pk=job.agent_id) | Q(checkpoint__job=job.pk)
        Agent.objects.filter(pk__in=Agent.objects.filter(own).values("pk")).update(visibility=visibility)
