"""The operations of people on jobs: submit, cancel, and submit again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from pydantic import ValidationError

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.agents.models import Agent, Endpoint
from apps.benchmarks.reading import as_closed_as, choices_on
from apps.episodes.models import Batch, make_id
from apps.jobs import planning
from apps.jobs.changes import change, drop_open_shards, end, lock_shards, wake
from apps.jobs.decisions import checks
from apps.jobs.decisions.reading import decision_of, known_other
from apps.jobs.errors import (
    CannotDecide,
    JobRefusal,
    NoExpert,
    NoLimits,
    NotAgain,
    NotAsRanked,
    NotYours,
    OldBenchmark,
    SeveralRefusals,
    TooManyEpisodes,
    TooManyJobs,
    UnknownAgent,
    check_environments,
)
from apps.jobs.filing import Filing
from apps.jobs.models import Checkpoint, Decision, Job, JobEvent, Shard
from apps.live import recheck_access
from apps.seasons.numbers import first_number, is_hidden
from apps.seasons.operations import enter
from apps.visibility import Visibility, narrower, no_such_choice
from gem import benchmarks
from gem.agents import has_expert
from gem.agents.endpoint import EndpointSpec
from gem.agents.endpoint.amounts import check_limits
from gem.errors import UsageError
from gem.evaluation.data import not_as_ranked
from gem.evaluation.spec import HIDDEN, EvaluationSpec
from gem.validation.messages import count, error_sentence


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
        JobRefusal: as `submit_all`.
    """
    filing = Filing(name=name, visibility=visibility)
    return submit_all(owner, [spec], filing, idempotency_key=idempotency_key, checkpoint=checkpoint)[0]


def submit_all(
    owner: User | None,
    specs: Sequence[EvaluationSpec],
    filing: Filing,
    *,
    idempotency_key: str | None = None,
    checkpoint: Checkpoint | None = None,
) -> list[Job]:
    """Queue evaluations that belong together, one job for each specification: all of them, or none.

    A second call with the same owner and `idempotency_key` returns the same jobs.

    Raises:
        UnknownAgent, NoExpert: if `owner` may not use such an agent, or the expert does not know an environment.
        OldBenchmark, NotAsRanked: if the benchmark has another version now, or other data than those here.
        TooManyEpisodes, TooManyJobs: if they exceed the limits.
        CannotDecide: if they cannot be compared with the job that they shall stop by.
        SeveralRefusals: if there is more than one reason.
    """
    agents = check_all(owner, specs)
    if idempotency_key and (existing_jobs := _of_key(owner, idempotency_key)):
        return existing_jobs
    try:
        return _create_all(owner, list(zip(agents, specs, strict=True)), filing, idempotency_key or "", checkpoint)
    except IntegrityError:
        existing_jobs = _of_key(owner, idempotency_key or "")
        if not existing_jobs:
            raise
        return existing_jobs


def check_all(owner: User | None, specs: Sequence[EvaluationSpec]) -> list[Agent]:
    """Check everything about these specifications that does not change while others submit, and return their agents.

    Raises:
        JobRefusal: the reason, or `SeveralRefusals` with all of them.
    """
    agents: list[Agent] = []
    refusals: dict[str, JobRefusal] = {}
    for spec in specs:
        try:
            _check_size_and_version(spec)
            agents.append(check_players(owner, spec))
        except JobRefusal as refusal:
            refusals.update((str(reason), reason) for reason in refusal.all)
    try:
        checks.check(owner, specs)
    except CannotDecide as refusal:
        refusals[str(refusal)] = refusal
    if refusals:
        first, *more = refusals.values()
        raise SeveralRefusals([first, *more]) if more else first
    return agents


def _check_size_and_version(spec: EvaluationSpec) -> None:
    if not spec.is_current:
        raise OldBenchmark(
            f"This request is for version {spec.benchmark_version} of the benchmark {spec.benchmark}, which has "
            "changed since. Submit a new job with the current version."
        )
    if spec.benchmark and (reasons := not_as_ranked(benchmarks.load(spec.benchmark))):
        raise NotAsRanked(f"{reasons[0]} Such a job would not be ranked, so nothing was submitted.")
    if spec.episodes_total > settings.EPISODES_PER_JOB:
        raise TooManyEpisodes(
            f"A job may have at most {settings.EPISODES_PER_JOB:,} episodes; this one has {spec.episodes_total:,}. "
            "Choose fewer environments or episodes."
        )


def _of_key(owner: User | None, key: str) -> list[Job]:
    """The jobs that were submitted with this key."""
    first = Job.objects.filter(owner=owner, idempotency_key=key).first()
    if first is None or not first.group:
        return [first] if first else []
    return list(Job.objects.filter(owner=owner, group=first.group).order_by("created", "pk"))


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
        try:
            players.append(find_agent(owner, spec.opponent))
            check_can_play(players[1], spec.multi_seat_env_ids)
        except (UnknownAgent, NoExpert) as refusal:
            raise type(refusal)(str(refusal), field="opponent") from refusal
    if spec.limits_tokens:
        for player in players:
            _check_limits(player, limits_money=spec.limits_money)
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
def _create_all(
    owner: User | None,
    players: Sequence[tuple[Agent, EvaluationSpec]],
    filing: Filing,
    key: str,
    checkpoint: Checkpoint | None,
) -> list[Job]:
    if owner is not None:
        _check_room(owner, len(players))
    group = make_id() if len(players) > 1 else ""
    keys = [key, *[""] * (len(players) - 1)]
    jobs = [
        _create(Job(owner=owner, agent=agent, group=group, idempotency_key=key), spec, filing, checkpoint)
        for key, (agent, spec) in zip(keys, players, strict=True)
    ]
    Decision.objects.bulk_create(checks.plan(jobs, [spec for _, spec in players]))
    return jobs


def check_room(job: Job) -> None:
    """Check that a job that is not queued may be queued again.

    Raises:
        TooManyJobs: if its owner has as many queued jobs as one person may have.
    """
    if job.owner is not None:
        _check_room(job.owner, 1)


def _check_room(owner: User, number: int) -> None:
    """Check that so many further jobs of this person may wait.

    Raises:
        TooManyJobs: if not all of them may.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent requests count each other
    problem = quotas.refusal(owner, quotas.JOBS_QUEUED, number)
    if problem and number > 1:
        limit = quotas.limit_of(owner, quotas.JOBS_QUEUED)
        raise TooManyJobs(
            f"These are {number} jobs, and only {limit} jobs of one person may be queued, including those already "
            f"queued. None of them was submitted. Choose fewer agents, or wait until other jobs start."
        )
    if problem:
        raise TooManyJobs(problem)


def _create(job: Job, spec: EvaluationSpec, filing: Filing, checkpoint: Checkpoint | None) -> Job:
    """Store a job, which has its owner, its agent and its keys, with its shards."""
    owner, agent = job.owner, job.agent
    job.name, job.notes, job.tags, job.priority = filing.name, filing.notes, list(filing.tags), filing.priority
    job.spec = spec.model_dump(mode="json", exclude={"stop_against"})  # that is in `Decision`, which not all may see
    job.set_up, job.episodes_total = agent.set_up, spec.episodes_total
    job.batch = _batch(agent, spec, as_closed_as(spec.benchmark, filing.visibility or default_visibility(owner)))
    if checkpoint:
        job.parent, job.parent_update = checkpoint.job, checkpoint.update
    job.save(force_insert=True)
    shards = _plan_shards(job, agent, spec)
    Shard.objects.bulk_create(shards)
    text = f"submitted: {count(spec.episodes_total, 'episode')} in {count(len(shards), 'shard')}"
    job.seq = change(job.pk, JobEvent.Kind.SUBMITTED, text)
    wake(job.pk, kind=job.kind)  # a worker that begins wakes the next one
    return job


def _batch(agent: Agent, spec: EvaluationSpec, visibility: str) -> Batch:
    """The batch of a new job. On hidden seeds it is closed, and belongs to the season that is under way."""
    if not spec.hidden_seeds or spec.benchmark is None:
        return Batch.objects.create(kind=Batch.Kind.JOB, visibility=visibility)
    players = [agent, *Agent.objects.filter(slug=spec.opponent)] if spec.opponent else [agent]
    shares_seeds = not any(player.is_asked for player in players)
    shares_seeds = shares_seeds and not any(tool.startswith("mcp:") for tool in spec.tools)
    season, submission = enter(benchmarks.load(spec.benchmark), shares_seeds=shares_seeds)
    return Batch.objects.create(
        kind=Batch.Kind.JOB, visibility=visibility, closed=True, season=season, submission=submission
    )


def _first_seed(job: Job, piece: planning.Piece) -> int:
    """The seed of the first episode of a piece, or the number that stands for a hidden one."""
    seed, _ = piece.part.seed_and_seat(piece.start)
    if not is_hidden(seed):
        return seed
    assert job.batch.season_id is not None  # the batch of a job on hidden seeds has one
    return first_number(job.batch.season_id, job.batch.submission) + seed - HIDDEN


def _plan_shards(job: Job, agent: Agent, spec: EvaluationSpec) -> list[Shard]:
    """The shards of a job, numbered in the order in which they are played (see `planning`)."""
    return [
        Shard(
            job=job,
            number=number,
            env_id=piece.part.env_id,
            first_slot=piece.first_slot,
            first_seed=_first_seed(job, piece),
            count=piece.episodes,
            sent=Now(),
        )
        for number, piece in enumerate(planning.pieces(spec, planning.shard_sizes(agent, spec)), start=1)
    ]


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
    """Continue an evaluation that a person or a restore has paused, after its last episode. Others stay as they are.

    Raises:
        NotYours: if `by` is neither its owner nor staff.
        UnknownAgent, CannotChange: if an agent is not available to the owner any more, or an environment is gone.
        TooManyJobs: if the owner has as many queued jobs as one person may have.
        Job.DoesNotExist: if there is no such evaluation.
    """
    lock_shards(job_id)
    job = Job.objects.evaluations().get(pk=job_id)
    if not job.may_be_changed_by(by):
        raise NotYours("This job belongs to somebody else. Only its owner can resume it.")
    for slug in filter(None, (job.spec["agent"], job.spec.get("opponent"))):
        find_agent(job.owner, slug)
    if job.state == Job.State.PAUSED:
        check_environments(job.spec["env_ids"], "job")
        check_room(job)
    if Job.objects.filter(pk=job_id, state=Job.State.PAUSED).update(state=Job.State.QUEUED, reason=""):
        shards = Shard.objects.filter(job=job_id, state=Shard.State.PAUSED)
        shards.update(state=Shard.State.QUEUED, sent=Now(), attempt=0, setbacks=0, rests_until=None)
        change(job_id, JobEvent.Kind.RESUMED, f"resumed by {by.get_username()}")
        wake(job_id, Shard.objects.filter(job=job_id, state=Shard.State.QUEUED).count())
    return Job.objects.get(pk=job_id)


def resubmit(job_id: str, by: User, *, idempotency_key: str | None = None) -> Job:
    """Queue a new job of `by` with the same request. It is as closed as that one, or as the account of `by` says.

    Raises:
        Job.DoesNotExist: if there is no such job.
        JobRefusal: as `submit`, or if its specification is none any more, such as when an environment is gone.
    """
    job = Job.objects.select_related("batch").get(pk=job_id)
    filing = Filing(name=job.name, visibility=narrower(job.visibility, default_visibility(by)))
    if job.owner == by:
        filing = replace(filing, notes=job.notes, tags=tuple(job.tags), priority=job.priority)
    try:
        spec = EvaluationSpec.model_validate({**job.spec, "stop_against": known_other(decision_of(job), by)})
    except ValidationError as error:
        raise NotAgain(
            f"This job cannot be submitted again as it was. {error_sentence(error, EvaluationSpec)}"
        ) from error
    return submit_all(by, [spec], filing, idempotency_key=idempotency_key)[0]


@transaction.atomic
def set_visibility(job: Job, visibility: Visibility) -> None:
    """Change who may see a job, its episodes and its scores; of a training, also its agent and its checkpoints.

    Raises:
        JobRefusal: if the job would be more open than the benchmark that it plays.
    """
    if visibility not in (choices := choices_on(job.spec.get("benchmark"))):
        raise JobRefusal(no_such_choice(choices), "visibility")
    batch = Batch.objects.select_for_update(no_key=True).get(pk=job.batch_id)  # so that a new checkpoint waits for this
    batch.visibility = visibility
    batch.save(update_fields=["visibility"])
    recheck_access(f"job:{job.pk}")
    if job.kind == Job.Kind.TRAINING:
        own = Q(pk=job.agent_id) | Q(checkpoint__job=job.pk)
        Agent.objects.filter(pk__in=Agent.objects.filter(own).values("pk")).update(visibility=visibility)
