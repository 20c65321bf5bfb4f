"""How long a job will take, from what this agent's earlier episodes took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import redis
from django.db.models import F, Q, Sum

from apps.agents.models import Agent
from apps.jobs.models import Job, JobQuerySet, Shard
from apps.queue import workers_alive
from gem.evaluation.scores import Z95
from gem.evaluation.spec import EvaluationSpec, Part

SHARD_SECONDS = 2.0
SHARD_EPISODES = 250
"""The size of a shard of an environment that this agent has not played yet."""
MOST_SHARD_EPISODES = 500
SHARD_ROUNDS = 4
"""How many episodes after one another each place of an endpoint agent's shard plays, about: most of them are busy."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What episodes of one agent on one environment took so far."""

    episodes: int
    seconds: float
    """Of one worker, for one episode."""
    turns: float
    variance: float
    """Of the return."""
    tokens: float = 0.0
    """In and out, of one episode."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would take if it was submitted now."""

    episodes: int
    evidence: int
    """Earlier episodes of this agent on these environments; 0 means that nothing is known."""
    turns: int
    tokens: int
    """In and out; 0 where the agent counts none."""
    seconds: float
    """From its start to its end, with the workers there are."""
    wait: float
    """Until it starts."""
    ahead: int
    """Jobs that were submitted before and are not over."""
    workers: int
    half_width: float | None
    """About half the width of the mean return's 95 % interval."""

    @property
    def total_seconds(self) -> float:
        """From now to its end."""
        return self.wait + self.seconds


def estimate(agent: Agent, spec: EvaluationSpec) -> Estimate:
    """An estimate for a job that is about to be submitted."""
    known = paces(agent, spec.env_ids, spec.tools)
    workers = _workers()
    parts = spec.parts
    remaining, wait = _ahead(Job.objects.active(), workers)
    return Estimate(
        episodes=spec.episodes_total,
        evidence=sum(pace.episodes for pace in known.values()),
        turns=round(sum(part.episodes * _known(known, part).turns for part in parts)),
        tokens=round(sum(part.episodes * _known(known, part).tokens for part in parts)),
        seconds=_seconds(known, parts, workers),
        wait=wait,
        ahead=remaining,
        workers=workers,
        half_width=_half_width(known, parts),
    )


def seconds_left(job: Job) -> tuple[float, int] | None:
    """About how long until a job that is not over ends, and from how many episodes that is known; None if unknown."""
    left = job.shards.exclude(state=Shard.State.DONE).values("env_id").annotate(left=Sum(F("count") - F("done")))
    parts = [Part(row["env_id"], 0, row["left"]) for row in left]
    known = paces(job.agent, [part.env_id for part in parts], job.spec.get("tools", ()))
    evidence = sum(pace.episodes for pace in known.values())
    if not evidence or len(known) < len(parts):
        return None
    workers = _workers()
    _, wait = _ahead(Job.objects.active().filter(created__lt=job.created), workers)
    return wait + _seconds(known, parts, workers), evidence


def jobs_ahead(job: Job) -> int:
    """How many jobs that are not over were submitted before this one."""
    return Job.objects.active().filter(created__lt=job.created).count()


def shard_sizes(agent: Agent, spec: EvaluationSpec) -> dict[str, int]:
    """How many episodes make a shard of about `SHARD_SECONDS`, by environment; never fewer than run in parallel."""
    known = paces(agent, spec.env_ids, spec.tools)
    sizes = {}
    for env_id in spec.env_ids:
        seconds = known[env_id].seconds if env_id in known else 0.0
        size = round(SHARD_SECONDS / seconds) if seconds > 0 else SHARD_EPISODES
        if agent.kind == Agent.Kind.ENDPOINT:
            size = SHARD_ROUNDS * spec.num_envs  # a slow one: others get a turn between shards
        sizes[env_id] = min(max(size, spec.num_envs, 10), MOST_SHARD_EPISODES)
    return sizes


def paces(agent: Agent, env_ids: Iterable[str], tools: Sequence[str] | None = None) -> dict[str, Pace]:
    """What is known of this agent, by environment; environments that it has not played are missing.

    Args:
        tools: only where it had exactly these; None for whatever it had.
    """
    rows = (
        Shard.objects.filter(_with_tools(tools), job__agent=agent, env_id__in=list(env_ids), done__gt=F("errors"))
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
    """Of shards: whether their jobs have these tools."""
    if tools is None:
        return Q()
    return Q(job__spec__tools=list(tools)) | (Q() if tools else Q(job__spec__tools__isnull=True))


_NOTHING = Pace(0, 0.0, 0.0, 0.0)


def _known(known: Mapping[str, Pace], part: Part) -> Pace:
    return known.get(part.env_id, _NOTHING)


def _seconds(known: Mapping[str, Pace], parts: Iterable[Part], workers: int) -> float:
    return sum(part.episodes * _known(known, part).seconds for part in parts) / workers


def _half_width(known: Mapping[str, Pace], parts: list[Part]) -> float | None:
    """Each environment counts alike, so the variances of their means add up, divided by their number squared."""
    if any(part.env_id not in known for part in parts):
        return None
    variance = sum(_known(known, part).variance / part.episodes for part in parts) / len(parts) ** 2
    return Z95 * math.sqrt(variance)


def _ahead(jobs: JobQuerySet, workers: int) -> tuple[int, float]:
    """How many `jobs` there are, and the seconds that all workers together need for what is left of them."""
    rows = (
        Shard.objects.filter(job__in=jobs)
        .exclude(state=Shard.State.DONE)
        .values("job__agent", "env_id")
        .annotate(left=Sum(F("count") - F("done")))
        .order_by()
    )
    by_agent: dict[int, list[Part]] = {}
    for row in rows:
        by_agent.setdefault(row["job__agent"], []).append(Part(row["env_id"], 0, row["left"]))
    seconds = 0.0
    for agent in Agent.objects.filter(pk__in=by_agent):
        parts = by_agent[agent.pk]
        seconds += _seconds(paces(agent, [part.env_id for part in parts]), parts, workers)
    return jobs.count(), seconds


def _workers() -> int:
    """Worker processes that are there now; 1 if none is heard of, so that estimates stay finite."""
    try:
        return max(1, sum(worker.queue == "evaluate" for worker in workers_alive()))
    except redis.RedisError:
        return 1
