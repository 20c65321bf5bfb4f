"""Writing scores, once at the end of the job that measured them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, Q

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.jobs.results.missing import return_bounds
from apps.leaderboard.models import Score
from apps.leaderboard.proofs.waiting import ask
from apps.leases import RowsLocked, patient_transaction
from gem import benchmarks
from gem.benchmarks import Benchmark, BenchmarkEntry
from gem.evaluation.scores import Estimate, SeedSums, estimate_return, pool_estimates, scaled
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

    def score(self, entry: BenchmarkEntry) -> Estimate:
        """The mean return on the scale of the benchmark, with the interval of the job's page."""
        if not self.returns_by_seed:
            return NOTHING
        return scaled(estimate_return(map(SeedSums.of, self.returns_by_seed)), entry.score)


@transaction.atomic
def record_scores(job_id: str) -> int:
    """Write the scores of a finished benchmark job. Returns their number, which is 0 if they exist already.

    Nobody may choose which episodes count. So a job with several tries per seed is not ranked, and one with unanswered
    episodes only on hidden seeds, where each of them counts with the lowest return. Jobs on the public seeds of a
    benchmark that has hidden ones are practice.
    """
    job = Job.objects.select_for_update().get(pk=job_id)
    spec = EvaluationSpec.model_validate(job.spec)
    if job.state != Job.State.DONE or not spec.benchmark or job.scores.exists():
        return 0
    if not job.is_ranked or (not spec.hidden_seeds and job.shards.filter(unanswered__gt=0).exists()):
        return 0
    benchmark = benchmarks.load(spec.benchmark)
    if spec.benchmark_version != benchmark.version:  # the scale of the earlier version is not known any more
        return 0
    if not _is_as_ranked(job, benchmark):
        return 0
    results = {entry.env_id: _results(job, entry) for entry in benchmark.entries}
    scores = [_score(job, benchmark, entry, results[entry.env_id]) for entry in benchmark.entries]
    if all(score.n for score in scores):
        scores.append(_overall(job, benchmark, scores, results))
    for score in scores:
        score.tools = spec.tools_in_words
    count = len(Score.objects.bulk_create(scores))
    if count and job.plays_hidden_seeds:
        ask(job)
    return count


def _is_as_ranked(job: Job, benchmark: Benchmark) -> bool:
    """Whether the episodes were played on the versions and the data that the benchmark names.

    Results on data that stand in for others say little about these, so they are never ranked as the same.
    """
    columns = "env_id", "env_version", "data_hash"
    played = Episode.objects.filter(batch=job.batch_id).order_by().values_list(*columns).distinct()
    entries = {entry.env_id: entry for entry in benchmark.entries if entry.random is not None}
    for env_id, version, data_hash in played:
        entry = entries.get(env_id)
        if entry is None:  # the first benchmark does not say on which version and data it is played
            continue
        if version != entry.env_version or (entry.data is not None and data_hash != entry.data.hash):
            logger.warning("job %s: not ranked, because %s was played on another version or data", job.pk, env_id)
            return False
    return True


def record_missing_scores() -> int:
    """Write the scores of finished benchmark jobs whose worker died before that. Returns the number of jobs.

    A job whose row somebody holds locked, or whose scores cannot be computed, does not keep the others waiting.
    """
    on_public_seeds = Q(spec__benchmark__in=set(benchmarks.names()) - benchmarks.with_hidden_seeds())
    waiting = Job.objects.filter(on_public_seeds | Q(spec__hidden_seeds=True), state=Job.State.DONE, scores=None)
    columns = "pk", "spec__benchmark", "spec__benchmark_version"
    missing = [
        job_id
        for job_id, name, version in waiting.values_list(*columns)
        if name in benchmarks.names() and version == benchmarks.load(name).version
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


def _results(job: Job, entry: BenchmarkEntry) -> Results:
    episodes = Episode.objects.filter(batch=job.batch_id, env_id=entry.env_id)
    counted = episodes.ended().filter(seats__number=F("scored_seat"))
    by_seed: dict[int, list[float]] = {}
    won = 0
    for seed, reward, success in counted.order_by("slot").values_list("seed", "seats__total_reward", "success"):
        by_seed.setdefault(seed, []).append(reward)
        won += bool(success)
    failed = episodes.filter(status=Episode.Status.FAILED)
    errors = failed.count()
    if job.plays_hidden_seeds:  # no answer is an answer, and the worst one
        lowest = lowest_return(entry, [reward for rewards in by_seed.values() for reward in rewards])
        for seed in failed.filter(failed_by=Episode.FailedBy.AGENT).values_list("seed", flat=True):
            by_seed.setdefault(seed, []).append(lowest)
            errors -= 1
    return Results(list(by_seed.values()), won, errors)


def lowest_return(entry: BenchmarkEntry, returns: Sequence[float]) -> float:
    """The return of an episode without an answer: the lowest possible one, if the environment says what that is.

    Otherwise no more than the lowest that the agent had, the random agent's mean, and 0.
    """
    bounds = return_bounds(entry.env_id)
    return bounds[0] if bounds is not None else min(0.0, entry.random_return, *returns)


def _score(job: Job, benchmark: Benchmark, entry: BenchmarkEntry, results: Results) -> Score:
    returns = results.returns
    n = len(returns)
    estimate = results.score(entry)
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
    """The mean over environments, with equal weights, and its interval if there is one (`pool_estimates`)."""
    count = len(scores)
    estimate = pool_estimates([results[entry.env_id].score(entry) for entry in benchmark.entries])
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
