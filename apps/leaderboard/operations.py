"""Writing scores, once at the end of the job that measured them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.leaderboard.models import Score
from apps.leases import RowsLocked, patient_transaction
from gem import benchmarks
from gem.benchmarks import Benchmark, BenchmarkEntry
from gem.evaluation.scores import Estimate, SeedSums, estimate_return, over_environments
from gem.evaluation.spec import EvaluationSpec

logger = logging.getLogger(__name__)

NOTHING = Estimate(0.0, None, None, 0, "No interval: none of its episodes counts.")
"""The estimate of an environment in which no episode counts."""


@dataclass(frozen=True, slots=True)
class Results:
    """The counted episodes of one environment."""

    returns_by_seed: list[list[float]]
    won: int
    errors: int

    @property
    def returns(self) -> list[float]:
        """The returns of all seeds."""
        return [value for returns in self.returns_by_seed for value in returns]

    def normalized(self, entry: BenchmarkEntry) -> list[SeedSums]:
        """The returns of each seed in sums, on the scale of the benchmark."""
        return [SeedSums.of([entry.normalize(value) for value in returns]) for returns in self.returns_by_seed]


@transaction.atomic
def record_scores(job_id: str) -> int:
    """Write the scores of a finished benchmark job. Returns their number, which is 0 if they exist already.

    A job with unanswered episodes or with several tries per seed is not ranked, because nobody may choose which
    episodes count.
    """
    job = Job.objects.select_for_update().get(pk=job_id)
    spec = EvaluationSpec.model_validate(job.spec)
    if job.state != Job.State.DONE or not spec.benchmark or job.scores.exists():
        return 0
    if spec.repeats > 1 or job.shards.filter(unanswered__gt=0).exists():
        return 0
    benchmark = benchmarks.load(spec.benchmark)
    if spec.benchmark_version != benchmark.version:  # the scale of the earlier version is not known any more
        return 0
    results = {entry.env_id: _results(job, entry.env_id) for entry in benchmark.entries}
    scores = [_score(job, benchmark, entry, results[entry.env_id]) for entry in benchmark.entries]
    if all(score.n for score in scores):
        scores.append(_overall(job, benchmark, scores, results))
    for score in scores:
        score.tools = spec.tools_in_words
    return len(Score.objects.bulk_create(scores))


def record_missing_scores() -> int:
    """Write the scores of finished benchmark jobs whose worker died before that. Returns the number of jobs.

    A job whose row somebody holds locked, or whose scores cannot be computed, does not keep the others waiting.
    """
    present = (benchmarks.load(name) for name in benchmarks.names())
    missing = [
        job_id
        for benchmark in present
        for job_id in Job.objects.filter(
            state=Job.State.DONE,
            scores=None,
            spec__benchmark=benchmark.name,
            spec__benchmark_version=benchmark.version,
        ).values_list("pk", flat=True)
    ]
    return sum(map(_record_missing, missing))


def _record_missing(job_id: str) -> bool:
    try:
        with patient_transaction():
            return bool(record_scores(job_id))
    except RowsLocked as locked:
        logger.warning("job %s: its scores cannot be written yet: %s", job_id, locked)
    except Exception:  # whatever is wrong with one job must not keep the others from their scores
        logger.exception("job %s: its scores cannot be written", job_id)
    return False


def _results(job: Job, env_id: str) -> Results:
    episodes = Episode.objects.filter(batch=job.batch_id, env_id=env_id)
    counted = episodes.ended().filter(seats__number=F("scored_seat"))
    by_seed: dict[int, list[float]] = {}
    won = 0
    for seed, reward, success in counted.order_by("slot").values_list("seed", "seats__total_reward", "success"):
        by_seed.setdefault(seed, []).append(reward)
        won += bool(success)
    return Results(list(by_seed.values()), won, episodes.filter(status=Episode.Status.FAILED).count())


def _score(job: Job, benchmark: Benchmark, entry: BenchmarkEntry, results: Results) -> Score:
    returns = results.returns
    n = len(returns)
    estimate = estimate_return(results.normalized(entry)) if n else NOTHING
    return Score(
        job=job,
        agent_id=job.agent_id,
        benchmark=benchmark.name,
        benchmark_version=benchmark.version,
        env_id=entry.env_id,
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        reason=estimate.reason,
        mean_return=math.fsum(returns) / n if n else 0.0,
        success_rate=results.won / n if n else 0.0,
        n=n,
        errors=results.errors,
    )


def _overall(job: Job, benchmark: Benchmark, scores: Sequence[Score], results: Mapping[str, Results]) -> Score:
    """The mean over environments, with equal weights, by the statistic that the page of the job has."""
    count = len(scores)
    normalized = [results[entry.env_id].normalized(entry) for entry in benchmark.entries]
    estimate = over_environments(normalized, estimate_return)
    return Score(
        job=job,
        agent_id=job.agent_id,
        benchmark=benchmark.name,
        benchmark_version=benchmark.version,
        env_id="",
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        reason=estimate.reason,
        mean_return=math.fsum(score.mean_return for score in scores) / count,
        success_rate=math.fsum(score.success_rate for score in scores) / count,
        n=sum(score.n for score in scores),
        errors=sum(score.errors for score in scores),
    )
