"""The counted returns of the episodes of a ranked job, and the scores that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.jobs.results.missing import return_bounds
from gem.benchmarks import Benchmark, BenchmarkEntry
from gem.evaluation.ranking.board import Returns, Scale, rank
from gem.evaluation.scores import Estimate, SeedSums, estimate_return, pool_estimates, scaled

NOTHING = Estimate(0.0, None, None, 0, "No interval: none of its episodes counts.")
"""The estimate of an environment in which no episode counts."""


@dataclass(slots=True)
class Results:
    """The counted episodes of one environment."""

    by_seed: dict[int, list[float]] = field(default_factory=dict)
    """The returns of each seed: of all its tries and seats."""
    won: int = 0
    errors: int = 0

    @property
    def returns(self) -> list[float]:
        """The returns of all seeds."""
        return [value for returns in self.by_seed.values() for value in returns]


def results_of(job: Job, benchmark: Benchmark) -> dict[str, Results]:
    """The results of a job by environment. On hidden seeds no answer is an answer, and the worst one."""
    found = {entry.env_id: Results() for entry in benchmark.entries}
    episodes = Episode.objects.filter(batch=job.batch_id, env_id__in=found)
    counted = episodes.ended().filter(seats__number=F("scored_seat")).order_by("slot")
    for env_id, seed, reward, success in counted.values_list("env_id", "seed", "seats__total_reward", "success"):
        results = found[env_id]
        results.by_seed.setdefault(seed, []).append(reward)
        results.won += bool(success)
    lowest = {entry.env_id: lowest_return(entry, found[entry.env_id].returns) for entry in benchmark.entries}
    failed = episodes.filter(status=Episode.Status.FAILED).order_by("slot")
    for env_id, seed, failed_by in failed.values_list("env_id", "seed", "failed_by"):
        if job.plays_hidden_seeds and failed_by == Episode.FailedBy.AGENT:
            found[env_id].by_seed.setdefault(seed, []).append(lowest[env_id])
        else:
            found[env_id].errors += 1
    return found


def lowest_return(entry: BenchmarkEntry, returns: Sequence[float]) -> float:
    """The return of an episode without an answer: the lowest possible one, if the environment says what that is.

    Otherwise no more than the lowest that the agent had, the random agent's mean, and 0.
    """
    bounds = return_bounds(entry.env_id)
    return bounds[0] if bounds is not None else min(0.0, entry.random_return, *returns)


def scales_of(benchmark: Benchmark) -> dict[str, Scale]:
    """The scales of its environments."""
    return {entry.env_id: Scale(entry.random_return, entry.best_return, entry.rule) for entry in benchmark.entries}


def returns_of(results: Mapping[str, Results]) -> Returns:
    """The returns by environment and seed, as rankings compare them."""
    return {env_id: each.by_seed for env_id, each in results.items()}


def estimates_of(benchmark: Benchmark, results: Mapping[str, Results]) -> dict[str, Estimate]:
    """The score of each environment with its interval, and under '' the one of the benchmark.

    The latter is missing if an environment has no counted episode. Intervals are those of the ranking: by a bootstrap
    over seeds, in which the clipped score is computed anew. The first benchmark, which does not clip, keeps the
    intervals of the job's page.
    """
    if benchmark.rule == "unclipped":
        return _unclipped(benchmark, results)
    played = {env_id: each for env_id, each in results.items() if each.by_seed}
    if not played:
        return dict.fromkeys(results, NOTHING)
    scales = scales_of(benchmark)
    (row,) = rank({"row": returns_of(played)}, {env_id: scales[env_id] for env_id in played}).rows
    found = {env_id: row.scores.get(env_id, NOTHING) for env_id in results}
    if len(played) == len(results):
        found[""] = row.score
    return found


def _unclipped(benchmark: Benchmark, results: Mapping[str, Results]) -> dict[str, Estimate]:
    found = {}
    for entry in benchmark.entries:
        by_seed = results[entry.env_id].by_seed
        sums = map(SeedSums.of, by_seed.values())
        found[entry.env_id] = scaled(estimate_return(sums), entry.score) if by_seed else NOTHING
    if all(results[entry.env_id].by_seed for entry in benchmark.entries):
        found[""] = pool_estimates([found[entry.env_id] for entry in benchmark.entries])
    return found
