"""The statistics of jobs: mean returns and shares of solved episodes, with intervals in which a seed counts once.

All tries and both seats of a seed share its problem, so they are one observation (`gem.evaluation.intervals`). One
query sums the episodes by environment and seed. Its results are shared by requests, as in `cached`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, Count, F, FloatField, Max, Min, Q, Sum, Value, When

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.jobs.results.cached import shared_by_many
from gem.evaluation import scores as statistics
from gem.evaluation.intervals import Estimate, SeedSums, estimate_return, estimate_success

TINY = 1e-150
"""The square of what is smaller counts as 0."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The statistics of some episodes; None if none counts."""

    mean_return: Estimate | None = None
    success: Estimate | None = None

    @property
    def seeds(self) -> int:
        """The number of seeds behind them: the n of the intervals."""
        return self.mean_return.seeds if self.mean_return is not None else 0


@dataclass(frozen=True, slots=True)
class JobScores:
    """The statistics of a job, together and by environment."""

    total: Scores = field(default_factory=Scores)
    by_env: Mapping[str, Scores] = field(default_factory=dict)

    def of(self, env_id: str) -> Scores:
        """Those of one environment."""
        return self.by_env.get(env_id, Scores())


def scores_of(job: Job) -> JobScores:
    """The statistics of an evaluation so far."""
    return scores_of_all([job])[job.pk]


def scores_of_all(jobs: Iterable[Job]) -> dict[str, JobScores]:
    """The statistics of several evaluations, by id, in one query for all that are not known from earlier requests."""
    return shared_by_many(list(jobs), "scores", _measure)


def _measure(jobs: Sequence[Job]) -> dict[str, JobScores]:
    found = _sums(jobs)
    return {job.pk: summarize(found.get(job.batch_id, {})) for job in jobs}


def _sums(jobs: Sequence[Job]) -> dict[str, dict[str, list[SeedSums]]]:
    """The episodes that count in sums by seed: by batch and environment."""
    reward = "seats__total_reward"
    rows = (
        Episode.objects.filter(batch__in=[job.batch_id for job in jobs], seats__number=F("scored_seat"))
        .exclude(status=Episode.Status.FAILED)
        .order_by()
        .values("batch", "env_id", "seed")
        .annotate(
            n=Count("pk"),
            total=Sum(reward),
            squares=Sum(_square_of(reward)),
            low=Min(reward),
            high=Max(reward),
            solved=Count("pk", filter=Q(success=True)),
        )
        .values_list("batch", "env_id", "n", "total", "squares", "low", "high", "solved")
    )
    found: dict[str, dict[str, list[SeedSums]]] = defaultdict(lambda: defaultdict(list))
    for batch, env_id, *sums in rows:
        found[batch][env_id].append(SeedSums(*sums))
    return found


def _square_of(column: str) -> Case:
    """The square of a number in the database, which refuses to compute squares that are too small for it."""
    is_tiny = Q(**{f"{column}__gt": -TINY, f"{column}__lt": TINY})
    return Case(When(is_tiny, then=Value(0.0)), default=F(column) * F(column), output_field=FloatField())


def summarize(seeds_by_env: Mapping[str, Sequence[SeedSums]]) -> JobScores:
    """The statistics of these sums."""
    by_env = {
        env_id: Scores(estimate_return(seeds), estimate_success(seeds))
        for env_id, seeds in seeds_by_env.items()
        if seeds
    }
    if not by_env:
        return JobScores()
    total = Scores(
        statistics.over_environments(seeds_by_env.values(), estimate_return),
        statistics.over_environments(seeds_by_env.values(), estimate_success),
    )
    return JobScores(total, by_env)


def over_environments(parts: Sequence[Scores]) -> Scores:
    """The statistics of several environments together, with equal weights. Environments without episodes are left out.

    There are no intervals if one of them has too few seeds for one.
    """
    returns = [scores.mean_return for scores in parts if scores.mean_return is not None]
    successes = [scores.success for scores in parts if scores.success is not None]
    if not (returns and successes):
        return Scores()
    return Scores(statistics.pool_estimates(returns), statistics.pool_estimates(successes))
