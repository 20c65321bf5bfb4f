"""Shards: the parts of jobs that workers claim."""

from __future__ import annotations

from typing import Any

from django.db import models

from apps.jobs.models.jobs import Job
from apps.leases import Leased, LeasedQuerySet
from gem.evaluation.spec import EvaluationPart


class Shard(Leased):
    """A part of a job that one worker plays: consecutive slots of one environment. A training is one shard.

    Every write of a worker is fenced by `lease_token` and `state`: a worker that lost the lease writes nothing.
    `attempt` counts its claims since it last made progress.
    """

    State = Job.State

    job = models.ForeignKey(Job, models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    env_id = models.CharField(max_length=120)
    first_slot = models.PositiveIntegerField()
    first_seed = models.BigIntegerField(default=0)
    """The seed of the first slot; the seeds of a shard are consecutive like its slots."""
    count = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    """The number of its recorded slots. A new attempt plays the others."""
    won = models.PositiveIntegerField(default=0)
    limited = models.PositiveIntegerField(default=0)
    """Episodes that ended by a limit of turns, tokens or money and were not solved."""
    errors = models.PositiveIntegerField(default=0)
    """Episodes that are not in the sums: environment errors and unanswered episodes."""
    unanswered = models.PositiveIntegerField(default=0, db_default=0)
    """The `errors` in which the agent gave no answer."""
    cancelled = models.PositiveIntegerField(default=0, db_default=0)
    """The `errors` that a person cancelled and dropped."""
    orders: models.Field[Any, dict[str, str]] = models.JSONField(default=dict, db_default={}, blank=True)
    """What people want done with episodes that are not recorded yet, by slot: see `apps.jobs.controls`."""
    skipped = models.BooleanField(default=False, db_default=False)
    """Whether a person skipped what was left of it. Its state is `cancelled` then, and the job goes on without it."""
    tokens_in = models.PositiveBigIntegerField(default=0, db_default=0)
    tokens_out = models.PositiveBigIntegerField(default=0, db_default=0)
    """Tokens of all its episodes, including the `errors`."""
    actions = models.PositiveBigIntegerField(null=True, default=0)
    """Actions of the evaluated agent in all its episodes. In rows from before they were counted, this is null."""
    unreadable = models.PositiveBigIntegerField(null=True, default=0)
    forbidden = models.PositiveBigIntegerField(null=True, default=0)
    """The `actions` that the environment could not understand, and those that its rules do not allow."""
    data: models.Field[Any, dict[str, str]] = models.JSONField(default=dict, db_default={})
    """The data that its episodes were played on: where they come from, by their hash. Empty without data."""
    machine = models.CharField(max_length=200, blank=True, default="", db_default="")
    """Of a ranked shard that a trained policy has played: what its choices depend on (`apps.leaderboard.proofs`)."""
    turns = models.PositiveBigIntegerField(default=0)
    return_sum = models.FloatField(default=0.0)
    return_squares = models.FloatField(default=0.0)
    seconds = models.FloatField(default=0.0)
    """Wall time that workers spent on it."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    reason = models.TextField(blank=True)
    setbacks = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How often a fault of the infrastructure interrupted it since it last made progress or an attempt failed."""
    rests_until = models.DateTimeField(null=True, blank=True)
    """After a setback: when it may be claimed again."""
    sent = models.DateTimeField(null=True, blank=True)
    """When a message about it was last sent. The reaper repeats it if no worker claims the shard."""

    objects = LeasedQuerySet["Shard"].as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="one_shard_per_number")]
        indexes = [
            models.Index(fields=["state", "lease_until"]),
            models.Index(fields=["job", "number"], condition=models.Q(state="queued"), name="queued_shards"),
        ]

    def __str__(self) -> str:
        return f"shard {self.number} of job {self.job_id}"

    @property
    def slots(self) -> range:
        """The places of its episodes in the batch."""
        return range(self.first_slot, self.first_slot + self.count)

    def place(self, slot: int) -> tuple[int, int]:
        """The seed and the seat of the episode in one of its slots."""
        return EvaluationPart(self.env_id, self.first_seed, self.count).seed_and_seat(slot - self.first_slot)
