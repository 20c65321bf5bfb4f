"""The tables of jobs: requests to evaluate or to train, the shards that workers claim, and the results of trainings.

Begin with `jobs.Job`. Submitting, claiming and recording are in `apps/jobs/operations.py` and `apps/jobs/leases/`.
"""

from apps.jobs.books.rows import EpisodeBooks, JobBooks, Reservation
from apps.jobs.decisions.rows import Decision
from apps.jobs.models.events import JobEvent, JobEventQuerySet
from apps.jobs.models.jobs import Job, JobQuerySet, owner_of_job
from apps.jobs.models.shards import Shard
from apps.jobs.models.trainings import Checkpoint, Point, Sample

__all__ = [
    "Checkpoint",
    "Decision",
    "EpisodeBooks",
    "Job",
    "JobBooks",
    "JobEvent",
    "JobEventQuerySet",
    "JobQuerySet",
    "Point",
    "Reservation",
    "Sample",
    "Shard",
    "owner_of_job",
]
