"""How long a job will take, from what this agent's earlier episodes took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import redis
from django.db.models import F, Q, Sum

from apps.agents.models import Agent
from apps.jobs import admission
from apps.jobs.models import Job, JobQuerySet, Shard
from apps.queue import workers_alive
from apps.visibility import Visibility
from gem.evaluation.scores import Z95
from gem.evaluation.spec import EvaluationPart, EvaluationSpec

SHARD_SECONDS = 2.0
"""The time that one worker should need for a shard."""
SHARD_EPISODES = 250
"""The size of a shard if this agent has not played the environment yet."""
MAX_SHARD_EPISODES = 500
SHARD_ROUNDS = (4, 16)
"""The least and the most rounds of parallel episodes in a shard of an endpoint agent."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Averages over the episodes that one agent has played on one environment."""

    episodes: int
    seconds: float
    """Of one worker, per episode."""
    turns: float
    """Per episode."""
    variance: float
    """Of the return."""
    tokens: float = 0.0
    """Prompt and completion tokens, per episode."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would take if it were submitted now."""

    episodes: int
    evidence: int
    """Earlier episodes of this agent on these environments. With 0 there is no estimate."""
    turns: int
    tokens: int
    """Prompt and completion tokens; 0 if the agent reports none."""
    seconds: float
    """From its start to its end, with the workers that are alive now."""
    wait: float
    """Seconds until it starts."""
    ahead: int
    """Jobs that are served before it."""
    workers: int
    half_width: float | None
    """About half the width of the mean return's 95 % interval."""

    @property
    def total_seconds(self) -> float:
        """From now to its end."""
        return self.wait + self.seconds


def estimate(agent: Agent, spec: EvaluationSpec, known: JobQuerySet, owner_id: int | None = None) -> Estimate:
    """An estimate for a job that this person is about to submit, from the jobs that they may know of.

    The queue is counted as it is, without saying whose jobs wait in it.
    """
    paces_by_env = paces(agent, spec.env_ids, spec.tools, known)
    workers = _worker_count()
    parts = spec.parts
    wait = _work_left(Job.objects.active(), workers)
    return Estimate(
        episodes=spec.episodes_total,
        evidence=sum(pace.episodes for pace in paces_by_env.values()),
        turns=round(sum(part.episodes * _pace_of(paces_by_env, part).turns for part in parts)),
        tokens=round(sum(part.episodes * _pace_of(paces_by_env, part).tokens for part in parts)),
        seconds=_seconds(paces_by_env, parts, workers),
        wait=wait,
        ahead=admission.jobs_ahead_of_new(Job.Kind.EVALUATION, owner_id),
        workers=workers,
        half_width=_half_width(paces_by_env, parts),
    )


def seconds_left(job: Job) -> tuple[float, int] | None:
    """Estimated seconds until a job ends, and the number of episodes behind the estimate; None without an estimate."""
    left = job.shards.exclude(state=Shard.State.DONE).values("env_id").annotate(left=Sum(F("count") - F("done")))
    parts = [EvaluationPart(row["env_id"], 0, row["left"]) for row in left]
    known = Job.objects.filter(Q(batch__visibility=Visibility.PUBLIC) | Q(owner=job.owner_id))
    paces_by_env = paces(job.agent, [part.env_id for part in parts], job.spec.get("tools", ()), known)
    evidence = sum(pace.episodes for pace in paces_by_env.values())
    if not evidence or len(paces_by_env) < len(parts):
        return None
    workers = _worker_count()
    wait = _work_left(Job.objects.active().filter(created__lt=job.created), workers)
    return wait + _seconds(paces_by_env, parts, workers), evidence


def shard_sizes(agent: Agent, spec: EvaluationSpec) -> dict[str, int]:
    """Episodes per shard by environment, for about `SHARD_SECONDS`; never fewer than run in parallel."""
    paces_by_env = paces(agent, spec.env_ids, spec.tools)
    sizes = {}
    for env_id in spec.env_ids:
        seconds = paces_by_env[env_id].seconds if env_id in paces_by_env else 0.0
        size = round(SHARD_SECONDS / seconds) if seconds > 0 else SHARD_EPISODES
        sizes[env_id] = min(max(size, spec.num_envs, 10), MAX_SHARD_EPISODES)
    if agent.kind == Agent.Kind.ENDPOINT:
        # At the end of a shard, fewer and fewer of its places are busy, so shards are as large as the workers allow.
        # Others need not wait for the end of a shard: a worker gives it back between episodes.
        least, most = (rounds * spec.num_envs for rounds in SHARD_ROUNDS)
        workers = _worker_count()
        for part in spec.parts:
            sizes[part.env_id] = max(10, least, min(math.ceil(part.episodes / workers), most))
    return sizes


def paces(
    agent: Agent, env_ids: Iterable[str], tools: Sequence[str] | None = None, known: JobQuerySet | None = None
) -> dict[str, Pace]:
    """The pace of this agent by environment. Environments that it has not played are missing.

    Args:
        tools: count only jobs with exactly these tools; None counts all jobs.
        known: count only these jobs; None counts all.
    """
    shards = Shard.objects.all() if known is None else Shard.objects.filter(job__in=known)
    rows = (
        shards.filter(_with_tools(tools), job__agent=agent, env_id__in=list(env_ids), done__gt=F("errors"))
        .values("env_id")
        .annotate(
            episodes=Sum(F("done") - F("errors")),
            total_seconds=Sum("seconds"),
            total_turns=Sum("turns"),
            tokens=Sum(F("tokens_in") + F("tokens_out")),
            total=Sum("return_sum"),
            squares=Sum("return_squares"),
        )
        .order_by()
    )
    return {
        row["env_id"]: Pace(
            row["episodes"],
            row["total_seconds"] / row["episodes"],
            row["total_turns"] / row["episodes"],
            max(0.0, row["squares"] / row["episodes"] - (row["total"] / row["episodes"]) ** 2),
            row["tokens"] / row["episodes"],
        )
        for row in rows
    }


def _with_tools(tools: Sequence[str] | None) -> Q:
    """A filter of shards by the tools of their jobs."""
    if tools is None:
        return Q()
    return Q(job__spec__tools=list(tools)) | (Q() if tools else Q(job__spec__tools__isnull=True))


_NO_PACE = Pace(0, 0.0, 0.0, 0.0)


def _pace_of(paces_by_env: Mapping[str, Pace], part: EvaluationPart) -> Pace:
    return paces_by_env.get(part.env_id, _NO_PACE)


def _seconds(paces_by_env: Mapping[str, Pace], parts: Iterable[EvaluationPart], workers: int) -> float:
    return sum(part.episodes * _pace_of(paces_by_env, part).seconds for part in parts) / workers


def _half_width(paces_by_env: Mapping[str, Pace], parts: list[EvaluationPart]) -> float | None:
    """Half the width of the 95 % interval of the mean return; None if an environment has no pace.

    All environments have equal weight, so the variances of their means add up, divided by their number squared.
    """
    if any(part.env_id not in paces_by_env for part in parts):
        return None
    variance = sum(_pace_of(paces_by_env, part).variance / part.episodes for part in parts) / len(parts) ** 2
    return Z95 * math.sqrt(variance)


def _work_left(jobs: JobQuerySet, workers: int) -> float:
    """The seconds that all workers together need to finish these jobs."""
    rows = (
        Shard.objects.filter(job__in=jobs)
        .exclude(state=Shard.State.DONE)
        .values("job__agent", "env_id")
        .annotate(left=Sum(F("count") - F("done")))
        .order_by()
    )
    by_agent: dict[int, list[EvaluationPart]] = {}
    for row in rows:
        by_agent.setdefault(row["job__agent"], []).append(EvaluationPart(row["env_id"], 0, row["left"]))
    seconds = 0.0
    for agent in Agent.objects.filter(pk__in=by_agent):
        parts = by_agent[agent.pk]
        seconds += _seconds(paces(agent, [part.env_id for part in parts]), parts, workers)
    return seconds


def _worker_count() -> int:
    """The number of evaluation workers that are alive; at least 1, so that estimates stay finite."""
    try:
        return max(1, sum(worker.queue == "evaluate" for worker in workers_alive()))
    except redis.RedisError:
        return 1
