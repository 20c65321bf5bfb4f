"""The estimate for a job that somebody is about to submit, and what is left of one that waits or runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import redis
from django.db.models import F, Q, Sum

from apps.agents.models import Agent
from apps.jobs.books.reading import books_of
from apps.jobs.estimates.forecasts import Forecast, forecast
from apps.jobs.estimates.paces import Pace
from apps.jobs.estimates.ranges import Range
from apps.jobs.estimates.starts import Start, start_of, start_of_new
from apps.jobs.models import Job, JobQuerySet, Shard
from apps.queue import workers_alive
from apps.visibility import Visibility
from gem.evaluation.scores import Z95
from gem.evaluation.spec import EvaluationPart, EvaluationSpec, read_stored

MIN_SEEDS = 10
"""Below this number of seeds in an environment, no interval is promised."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would take if it were submitted now."""

    episodes: int
    forecast: Forecast
    seconds: Range
    """From its start to its end, with the workers that are alive now."""
    start: Start
    """When it would start."""
    workers: int
    half_width: float | None
    """About half the width of the mean return's 95 % interval."""
    token_budget: int | None
    money_budget: float | None = None
    """At the prices of the agent."""
    turn_budget: int | None = None

    @property
    def evidence(self) -> int:
        """Earlier episodes of this agent on these environments."""
        return self.forecast.evidence

    @property
    def total_seconds(self) -> Range:
        """From now to its end."""
        wait = self.start.seconds or 0.0
        return self.seconds.plus(Range(wait, wait, wait))

    @property
    def exceeded(self) -> list[str]:
        """Which budgets will stop it, as far as anybody can tell: `turn`, `token`, `money`."""
        return [name for name, budget, needed in self._budgets if needed.low > budget]

    @property
    def at_risk(self) -> list[str]:
        """Which further budgets may stop it: where no tokens are counted, those of tokens and money may."""
        has_uncounted = bool(self.forecast.uncounted)
        return [
            name
            for name, budget, needed in self._budgets
            if needed.low <= budget and (budget < needed.high or (has_uncounted and name != "turn"))
        ]

    @property
    def _budgets(self) -> list[tuple[str, float, Range]]:
        """The budgets that it has, each with what it will need of it."""
        needs = (
            ("turn", self.turn_budget, self.forecast.turns),
            ("token", self.token_budget, self.forecast.tokens),
            ("money", self.money_budget, self.forecast.cost),
        )
        return [(name, budget, needed) for name, budget, needed in needs if budget is not None and needed is not None]


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
        start=start_of_new(Job.Kind.EVALUATION, owner_id, priority),
        workers=workers,
        half_width=_half_width(found.own, spec),
        token_budget=spec.token_budget,
        money_budget=spec.money_budget,
        turn_budget=spec.turn_budget,
    )


def remaining(job: Job) -> Remaining | None:
    """What an evaluation will still take, from its own episodes so far and earlier ones; None if it is over."""
    if job.over:
        return None
    spec = read_stored(job.spec)
    open_shards = job.shards.filter(skipped=False).exclude(state=Shard.State.DONE)
    left = open_shards.values("env_id").annotate(left=Sum(F("count") - F("done")))
    parts = [EvaluationPart(row["env_id"], 0, row["left"]) for row in left.order_by() if row["left"]]
    known = Job.objects.filter(Q(batch__visibility=Visibility.PUBLIC) | Q(owner=job.owner_id))
    found = forecast(job.agent, spec, parts, known)
    workers = worker_count()
    start = start_of(job)
    wait = (start.seconds or 0.0) if start is not None else 0.0
    used = job.shards.aggregate(tokens_in=Sum("tokens_in", default=0), tokens_out=Sum("tokens_out", default=0))
    tokens, prices = used["tokens_in"] + used["tokens_out"], (job.set_up or {}).get("prices")
    spent = (used["tokens_in"] * prices["tokens_in"] + used["tokens_out"] * prices["tokens_out"]) / 1e6 if prices else 0
    booked = books_of(job.pk)  # also of episodes under way, and of answers that were lost
    return Remaining(
        forecast=found,
        seconds=found.seconds.times(1 / workers).plus(Range(wait, wait, wait)),
        tokens=found.tokens.plus(Range(tokens, tokens, tokens)).at_least(booked.tokens),
        cost=(
            found.cost.plus(Range(spent, spent, spent)).at_least(float(booked.money))
            if found.cost is not None
            else None
        ),
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


def worker_count() -> int:
    """The number of evaluation workers that are alive; at least 1, so that estimates stay finite."""
    try:
        return max(1, sum(worker.queue == "evaluate" for worker in workers_alive()))
    except redis.RedisError:
        return 1
