"""Writing scores, once at the end of the job that measured them."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from django.db.models import Q

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.leaderboard.boards.waking import wake
from apps.leaderboard.models import Score
from apps.leaderboard.proofs.waiting import ask
from apps.leaderboard.results import Results, estimates_of, results_of
from apps.leases import RowsLocked, patient_transaction
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.errors import UsageError
from gem.evaluation.intervals import Estimate
from gem.evaluation.spec import read_stored

logger = logging.getLogger(__name__)


def record_scores(job_id: str) -> int:
    """Write the scores of a finished benchmark job. Returns their number, which is 0 if they exist already.

    Nobody may choose which episodes count. So a job with several tries per seed is not ranked, and one with unanswered
    episodes only on hidden seeds, where each of them counts with the lowest return. Jobs on the public seeds of a
    benchmark that has hidden ones are practice.

    Call it outside of transactions: the scores are computed before anything is locked.

    Raises:
        RowsLocked: if somebody keeps the row of the job locked.
    """
    job = Job.objects.get(pk=job_id)
    if job.state != Job.State.DONE or job.scores.exists():
        return 0
    scores = compute_scores(job)
    if not scores:
        return 0
    with patient_transaction():
        return _store(job, scores)


def compute_scores(job: Job) -> list[Score]:
    """The scores of a job that is done or will be stored as done; none if they do not rank. Nothing is written."""
    spec = read_stored(job.spec)
    if not spec.benchmark or not job.is_ranked:
        return []
    if not spec.hidden_seeds and job.shards.filter(unanswered__gt=0).exists():
        return []
    benchmark = benchmarks.load(spec.benchmark)
    if spec.benchmark_version != benchmark.version:  # the scale of the earlier version is not known any more
        return []
    if not _is_as_ranked(job, benchmark):
        return []
    scores = scores_of(job, benchmark)
    for score in scores:
        score.tools = spec.tools_in_words
    return scores


def _store(job: Job, scores: Sequence[Score]) -> int:
    """Write the scores of a job, unless they were written in the meantime."""
    if Job.objects.select_for_update(of=("self",)).get(pk=job.pk).scores.exists():
        return 0
    count = len(Score.objects.bulk_create(scores))
    if count and job.plays_hidden_seeds:
        ask(job)
    elif count:
        wake()
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
    missing = [job_id for job_id, name, version in waiting.values_list(*columns) if _is_present(name, version)]
    return sum(map(_record_missing, missing))


def _is_present(name: str, version: int) -> bool:
    """Whether this is the present version of a benchmark that there still is."""
    try:
        return benchmarks.load(name).version == version
    except UsageError:
        return False


def _record_missing(job_id: str) -> bool:
    try:
        return bool(record_scores(job_id))
    except RowsLocked as locked:
        logger.warning("job %s: its scores cannot be written yet: %s", job_id, locked)
    except Exception:  # whatever is wrong with one job must not keep the others from their scores
        logger.exception("job %s: its scores cannot be written", job_id)
    return False


def scores_of(job: Job, benchmark: Benchmark) -> list[Score]:
    """The scores of a job as rows that are not stored: of each environment and, if it played all, of the benchmark."""
    results = results_of(job, benchmark)
    estimates = estimates_of(benchmark, results)
    scores = [
        _score(job, benchmark, entry.env_id, estimates[entry.env_id], results[entry.env_id])
        for entry in benchmark.entries
    ]
    if "" in estimates:
        scores.append(_overall(job, benchmark, scores, estimates[""]))
    return scores


def _score(job: Job, benchmark: Benchmark, env_id: str, estimate: Estimate, results: Results) -> Score:
    returns = results.returns
    n = len(returns)
    return Score(
        job=job,
        agent_id=job.agent_id,
        benchmark=benchmark.name,
        benchmark_version=benchmark.version,
        env_id=env_id,
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        reason=estimate.reason,
        mean_return=math.fsum(returns) / n if n else 0.0,
        success_rate=results.won / n if n else 0.0,
        n=n,
        errors=results.errors,
    )


def _overall(job: Job, benchmark: Benchmark, scores: Sequence[Score], estimate: Estimate) -> Score:
    """The mean over environments, with equal weights."""
    count = len(scores)
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
