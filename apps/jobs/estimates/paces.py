"""What episodes took so far: averages over the episodes that agents have played in jobs, by environment.

Shards keep sums and no single episodes, so the spread of the episodes is estimated from the differences between shards:
the mean of a shard with n episodes varies n times less than an episode. A few shards say little, so the estimate is
drawn towards a standard deviation that equals the mean, which is usual for turns and tokens of episodes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, FloatField, Q, Sum
from django.db.models.functions import Cast

from apps.agents.models import Agent
from apps.jobs.models import Job, JobQuerySet, Shard

PRIOR_SHARDS = 4.0
"""The weight of the usual spread, in shards."""
NEWEST_JOBS = 50
"""Jobs of an agent, or of a kind of agents, that are looked at first; older ones only for environments not in these."""
QUANTITIES = ("turns", "tokens_in", "tokens_out", "seconds")
"""The columns of a shard whose means and spreads are known."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Averages over the episodes that one agent has played on one environment."""

    episodes: int
    seconds: float
    """Of one worker, per episode. Of an endpoint agent: with as many episodes at a time as the caller asked for."""
    turns: float
    """Per episode."""
    variance: float
    """Of the return."""
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    """Prompt and completion tokens, per episode."""
    solved: float = 0.0
    """The share of them that were solved."""
    spreads: Mapping[str, float] | None = None
    """The standard deviation between episodes, by quantity (`QUANTITIES`)."""

    @property
    def tokens(self) -> float:
        """Prompt and completion tokens, per episode."""
        return self.tokens_in + self.tokens_out

    def spread(self, quantity: str) -> float:
        """The standard deviation of a quantity between episodes."""
        return (self.spreads or {}).get(quantity, 0.0)


def paces(
    agent: Agent,
    env_ids: Iterable[str] | None,
    tools: Sequence[str] | None = None,
    known: JobQuerySet | None = None,
    num_envs: int | None = None,
) -> dict[str, Pace]:
    """The pace of this agent by environment. Environments that it has not played are missing.

    Args:
        env_ids: None for all that it has played.
        tools: count only jobs with exactly these tools; None counts all jobs.
        known: count only these jobs; None counts all.
        num_envs: how many episodes will be played at a time; the waiting of endpoint agents is shared by them.
    """
    return _by_env(agent, _evidence(_jobs(tools, known).filter(agent=agent), env_ids, "env_id"), num_envs)


def paces_in_all_jobs(
    agent: Agent, env_ids: Iterable[str], tools: Sequence[str] | None, known: JobQuerySet, num_envs: int
) -> dict[str, Pace]:
    """The same from all jobs and not first from the newest: for environments that the newest did not play."""
    return _by_env(agent, _sums(_shards(_jobs(tools, known).filter(agent=agent), env_ids), "env_id"), num_envs)


def _by_env(agent: Agent, rows: Mapping[tuple[Any, ...], Any], num_envs: int | None) -> dict[str, Pace]:
    concurrency = num_envs if agent.is_asked else None
    return {env_id: _pace(found, concurrency) for (env_id,), found in rows.items()}


def paces_of_others(
    agent: Agent, env_ids: Iterable[str], tools: Sequence[str] | None, known: JobQuerySet, num_envs: int
) -> dict[str, list[Pace]]:
    """The paces of other agents of the same kind, by environment and in the jobs that the caller may know of."""
    others = list(Agent.objects.filter(kind=agent.kind).exclude(pk=agent.pk).values_list("pk", flat=True))
    if not others:
        return {}
    jobs = _jobs(tools, known).filter(agent__in=others)
    concurrency = num_envs if agent.is_asked else None
    by_env: dict[str, list[Pace]] = defaultdict(list)
    for (env_id, _), found in _evidence(jobs, env_ids, "env_id", "job__agent").items():
        by_env[env_id].append(_pace(found, concurrency))
    return by_env


def _jobs(tools: Sequence[str] | None, known: JobQuerySet | None) -> JobQuerySet:
    """Evaluations with these tools that have begun: there may be thousands that wait."""
    jobs = Job.objects.all() if known is None else known
    return jobs.filter(_with_tools(tools), kind=Job.Kind.EVALUATION, episodes_done__gt=0)


def _evidence(jobs: JobQuerySet, env_ids: Iterable[str] | None, *keys: str) -> dict[tuple[Any, ...], Any]:
    """Sums over the shards of the newest jobs; of all of them for environments that are asked for and not in these."""
    newest = jobs.order_by("-created")[:NEWEST_JOBS]
    if env_ids is None:
        return _sums(_shards(newest, None), *keys)
    wanted = set(env_ids)
    rows = _sums(_shards(newest, wanted), *keys)
    missing = wanted - {env_id for env_id, *_ in rows}
    return {**rows, **_sums(_shards(jobs, missing), *keys)} if missing else rows


def _shards(jobs: JobQuerySet, env_ids: Iterable[str] | None) -> Any:
    """Shards of these jobs with counted episodes."""
    shards = Shard.objects.filter(job__in=jobs.values("pk"), done__gt=F("errors"))
    if env_ids is not None:
        shards = shards.filter(env_id__in=list(env_ids))
    return shards.annotate(counted=Cast(F("done") - F("errors"), FloatField()))


def _with_tools(tools: Sequence[str] | None) -> Q:
    """A filter of jobs by their tools."""
    if tools is None:
        return Q()
    return Q(spec__tools=list(tools)) | (Q() if tools else Q(spec__tools__isnull=True))


def _sums(shards: Any, *keys: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Sums over shards by `keys`, with one row for each number of episodes at a time."""
    squares = {
        f"{name}_squares": Sum(Cast(F(name), FloatField()) * Cast(F(name), FloatField()) / F("counted"))
        for name in QUANTITIES
    }
    sums = {f"{name}_sum": Sum(name) for name in QUANTITIES}
    rows = (
        shards.values(*keys, "job__spec__num_envs")
        .annotate(
            episodes=Sum("counted"),
            shards=Count("pk"),
            total=Sum("return_sum"),
            squares=Sum("return_squares"),
            won=Sum("won"),
            **sums,
            **squares,
        )
        .order_by()
    )
    grouped: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[tuple(row[key] for key in keys)].append(row)
    return grouped


def _pace(rows: Sequence[Mapping[str, Any]], num_envs: int | None) -> Pace:
    """The pace in these sums, which are of one agent and environment."""
    episodes = sum(row["episodes"] for row in rows)
    shards = sum(row["shards"] for row in rows)
    total, squares = sum(row["total"] for row in rows), sum(row["squares"] for row in rows)
    means, spreads = {}, {}
    for name in QUANTITIES:
        sums = squared = 0.0
        for row in rows:
            scale = 1.0
            if name == "seconds" and num_envs is not None:
                scale = (row["job__spec__num_envs"] or num_envs) / num_envs
            sums += scale * row[f"{name}_sum"]
            squared += scale * scale * row[f"{name}_squares"]
        means[name] = mean = sums / episodes
        between = max(0.0, squared - episodes * mean * mean)
        spreads[name] = math.sqrt((between + PRIOR_SHARDS * mean * mean) / (shards - 1 + PRIOR_SHARDS))
    return Pace(
        round(episodes),
        means["seconds"],
        means["turns"],
        max(0.0, squares / episodes - (total / episodes) ** 2),
        means["tokens_in"],
        means["tokens_out"],
        sum(row["won"] for row in rows) / episodes,
        spreads,
    )
