"""The estimate for a job that somebody is about to submit, and what is left of one that waits or runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import redis
from django.db.models import F, Q, Sum

from apps.agents.models import Agent
from apps.jobs import admission
from apps.jobs.estimates.forecasts import Forecast, forecast
from apps.jobs.estimates.paces import Pace, paces
from apps.jobs.estimates.ranges import Range
from apps.jobs.models import Job, JobQuerySet, Shard
from apps.queue import workers_alive
from apps.visibility import Visibility
from gem.evaluation.scores import Z95
from gem.evaluation.spec import EvaluationPart, EvaluationSpec

MIN_SEEDS = 10
"""Below this number of seeds in an environment, no interval is promised."""

Z80 = 0.8416212335729143
"""The 80th percentile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would take if it were submitted now."""

    episodes: int
    forecast: Forecast
    seconds: Range
    """From its start to its end, with the workers that are alive now."""
    wait: float
    """Seconds until it starts."""
    ahead: int
    """Jobs that are served before it."""
    workers: int
    half_width: float | None
    """About half the width of the mean return's 95 % interval."""
    token_budget: int | None

    @property
    def smallest_difference(self) -> float | None:
        """The difference in mean return from an agent that varies as much which such jobs show in 80 % of comparisons.

        It is that of independent results. Agents that find the same seeds easy show smaller ones.
        """
        return None if self.half_width is None else math.sqrt(2) * self.half_width * (Z95 + Z80) / Z95

    @property
    def evidence(self) -> int:
        """Earlier episodes of this agent on these environments."""
        return self.forecast.evidence

    @property
    def total_seconds(self) -> Range:
        """From now to its end."""
        return self.seconds.plus(Range(self.wait, self.wait, self.wait))

    @property
    def may_exceed_budget(self) -> bool:
        """Whether its token budget may stop it."""
        return self.token_budget is not None and self.forecast.tokens.high > self.token_budget

    @property
    def exceeds_budget(self) -> bool:
        """Whether its token budget will stop it, as far as anybody can tell."""
        return self.token_budget is not None and self.forecast.tokens.low > self.token_budget


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a job that waits or runs will still take, and what it will have taken at its end."""

    forecast: Forecast
    """Of the episodes that are left."""
    seconds: Range
    """Until it ends."""
    tokens: Range
    """Of the whole job, with those that are used already."""
    cost: Range | None
    """Of the whole job; None if the agent has no prices."""

    @property
    def evidence(self) -> int:
        """The episodes of this agent that it rests on."""
        return self.forecast.evidence


def estimate(
    agent: Agent, spec: EvaluationSpec, known: JobQuerySet, owner_id: int | None = None, *, priority: int = 0
) -> Estimate:
    """An estimate for a job that this person is about to submit, from the jobs that they may know of.

    The queue is counted as it is, without saying whose jobs wait in it.
    """
    workers = worker_count()
    found = forecast(agent, spec, spec.parts, known)
    return Estimate(
        episodes=spec.episodes_total,
        forecast=found,
        seconds=found.seconds.times(1 / workers),
        wait=_work_left(Job.objects.active(), workers),
        ahead=admission.jobs_ahead_of_new(Job.Kind.EVALUATION, owner_id, priority),
        workers=workers,
        half_width=_half_width(found.own, spec),
        token_budget=spec.token_budget,
    )


def remaining(job: Job) -> Remaining | None:
    """What an evaluation will still take, from its own episodes so far and earlier ones; None if it is over."""
    if job.over:
        return None
    spec = EvaluationSpec.model_validate(job.spec)
    open_shards = job.shards.filter(skipped=False).exclude(state=Shard.State.DONE)
    left = open_shards.values("env_id").annotate(left=Sum(F("count") - F("done")))
    parts = [EvaluationPart(row["env_id"], 0, row["left"]) for row in left.order_by() if row["left"]]
    known = Job.objects.filter(Q(batch__visibility=Visibility.PUBLIC) | Q(owner=job.owner_id))
    found = forecast(job.agent, spec, parts, known)
    workers = worker_count()
    wait = _work_left(Job.objects.active().filter(created__lt=job.created), workers)
    used = job.shards.aggregate(tokens_in=Sum("tokens_in", default=0), tokens_out=Sum("tokens_out", default=0))
    tokens, prices = used["tokens_in"] + used["tokens_out"], (job.set_up or {}).get("prices")
    spent = (used["tokens_in"] * prices["tokens_in"] + used["tokens_out"] * prices["tokens_out"]) / 1e6 if prices else 0
    return Remaining(
        forecast=found,
        seconds=found.seconds.times(1 / workers).plus(Range(wait, wait, wait)),
        tokens=found.tokens.plus(Range(tokens, tokens, tokens)),
        cost=found.cost.plus(Range(spent, spent, spent)) if found.cost is not None else None,
    )


def _half_width(paces_by_env: Mapping[str, Pace], spec: EvaluationSpec) -> float | None:
    """Half the width of the 95 % interval of the mean return.

    It is None if an environment has no pace or too few seeds, and if all earlier returns were equal, which says little.
    All environments have equal weight, so the variances of their means add up, divided by their number squared. Tries
    and seats of one seed are taken as if they gave one result, so the interval will not be wider than this says.
    """
    parts = [part for part in spec.parts if part.repeat == 0]
    if any(part.env_id not in paces_by_env or part.episodes // part.seats < MIN_SEEDS for part in parts):
        return None
    variance = sum(paces_by_env[part.env_id].variance * part.seats / part.episodes for part in parts)
    return Z95 * math.sqrt(variance) / len(parts) if variance else None


def _work_left(jobs: JobQuerySet, workers: int) -> float:
    """The seconds that all workers together need to finish these jobs, as far as their agents' paces are known."""
    rows = (
        Shard.objects.filter(job__in=jobs, skipped=False)
        .exclude(state=Shard.State.DONE)
        .values("job__agent", "env_id")
        .annotate(left=Sum(F("count") - F("done")))
        .order_by()
    )
    by_agent: dict[int, dict[str, int]] = {}
    for row in rows:
        by_agent.setdefault(row["job__agent"], {})[row["env_id"]] = row["left"]
    seconds = 0.0
    for agent in Agent.objects.filter(pk__in=by_agent):
        left = by_agent[agent.pk]
        seconds += sum(left[env_id] * pace.seconds for env_id, pace in paces(agent, left).items())
    return seconds / workers


def worker_count() -> int:
    """The number of evaluation workers that are alive; at least 1, so that estimates stay finite."""
    try:
        return max(1, sum(worker.queue == "evaluate" for worker in workers_alive()))
    except redis.RedisError:
        return 1
