"""What the rows of a leaderboard rest on: what was counted of the episodes, and the data that were played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from apps.jobs.models import Job, Shard
from apps.jobs.results import datasets
from apps.jobs.results.cached import shared_by_many
from apps.jobs.results.tallies import Tally
from apps.leaderboard.models import Score
from gem.evaluation.data import DataUse, SharedData, shared


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one job."""

    tallies: Mapping[str, Tally] = field(default_factory=dict)
    """Sums over its episodes by environment, and under the empty name over all of them."""
    data: Sequence[DataUse] = ()
    """The data that were played, by environment."""

    def tally(self, env_id: str = "") -> Tally:
        """The sums over its episodes on one environment, or on all."""
        return self.tallies.get(env_id) or Tally()

    def stand_ins(self, env_id: str = "") -> list[DataUse]:
        """The data of one environment, or of all, that stand in for others."""
        return [use for use in datasets.stand_ins(self.data) if env_id in ("", use.env_id)]


NOTHING = Evidence()


def evidence_of(scores: Iterable[Score]) -> dict[str, Evidence]:
    """What is known of the jobs of these scores, by id. Read the scores with `select_related("job")`.

    What is known of jobs that are over is kept for a day: boards ask for the same again and again.
    """
    return shared_by_many(list({score.job_id: score.job for score in scores}.values()), "evidence", _read)


def shared_stand_ins(found: Iterable[Evidence]) -> list[SharedData]:
    """The data of all these jobs that stand in for others, each once."""
    return shared(dict.fromkeys(use for evidence in found for use in evidence.stand_ins()))


def _read(jobs: Sequence[Job]) -> dict[str, Evidence]:
    shards: dict[str, list[Shard]] = {job.pk: [] for job in jobs}
    for shard in Shard.objects.filter(job__in=shards).order_by("pk"):
        shards[shard.job_id].append(shard)
    uses = datasets.used_by_all({job: shards[job.pk] for job in jobs})
    return {key: Evidence(_tallies(rows), uses[key]) for key, rows in shards.items()}


def _tallies(shards: Sequence[Shard]) -> dict[str, Tally]:
    by_environment: dict[str, list[Shard]] = {}
    for shard in shards:
        by_environment.setdefault(shard.env_id, []).append(shard)
    return {"": Tally.of(shards), **{env_id: Tally.of(rows) for env_id, rows in by_environment.items()}}
