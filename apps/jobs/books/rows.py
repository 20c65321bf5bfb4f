"""The tables of the books."""

from __future__ import annotations

from typing import Any

from django.db import models


class Sums(models.Model):
    """What requests have used. A request whose answer was lost counts as much as was reserved for it."""

    tokens_in = models.BigIntegerField(default=0, db_default=0)
    tokens_out = models.BigIntegerField(default=0, db_default=0)
    estimated_in = models.BigIntegerField(default=0, db_default=0)
    """The part of `tokens_in` that no server has counted."""
    estimated_out = models.BigIntegerField(default=0, db_default=0)
    requests = models.BigIntegerField(default=0, db_default=0)
    """Requests that were sent and are over. 0 in the books of jobs that are older than the books."""
    money: models.DecimalField[Any, Any] = models.DecimalField(max_digits=30, decimal_places=9, default=0, db_default=0)
    """At the prices of the agents when the job was submitted, in their currency."""

    class Meta:
        abstract = True

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.tokens_in + self.tokens_out

    @property
    def estimated(self) -> int:
        """The part of `tokens` that is estimated."""
        return self.estimated_in + self.estimated_out


class JobBooks(Sums):
    """The books of a job. Its row is locked by whoever books or reserves, so that no two reserve the same room."""

    job = models.OneToOneField("jobs.Job", models.CASCADE, primary_key=True, related_name="books")
    turns = models.BigIntegerField(default=0, db_default=0)
    """Of a job with a turn budget: the turns that its workers have drawn from it (`JobTurns`)."""
    refusal = models.TextField(default="", db_default="", blank=True)
    """Why no further request is sent or turn begun: the budget is used up. Empty while there is room."""

    def __str__(self) -> str:
        return f"books of job {self.job_id}"


class EpisodeBooks(Sums):
    """The books of one agent in one slot of a job, of all attempts at it."""

    pk = models.CompositePrimaryKey("job_id", "slot", "side")
    job = models.ForeignKey("jobs.Job", models.CASCADE, related_name="episode_books", db_index=False)
    slot = models.IntegerField()
    side = models.CharField(max_length=8)
    """`agent` or `opponent`."""

    def __str__(self) -> str:
        return f"books of slot {self.slot} of job {self.job_id}"


class Reservation(models.Model):
    """The most that a request can use. The row is written before the request is sent, and deleted when it is booked.

    If its worker was lost, it is booked as an estimate and its row stays, for the case that the worker has the answer
    after all.
    """

    pk = models.CompositePrimaryKey("holder", "number")
    holder = models.UUIDField()
    """The lease token of the worker."""
    number = models.BigIntegerField()
    job = models.ForeignKey("jobs.Job", models.CASCADE, related_name="reservations", db_index=False)
    slot = models.IntegerField()
    side = models.CharField(max_length=8)
    tokens_in = models.BigIntegerField()
    tokens_out = models.BigIntegerField()
    money: models.DecimalField[Any, Any] = models.DecimalField(max_digits=30, decimal_places=9)
    is_estimated = models.BooleanField(default=False, db_default=False)
    """Whether it has been booked as an estimate, because its worker was lost."""

    class Meta:
        indexes = [models.Index(fields=["job"], name="reservations_of_job")]

    def __str__(self) -> str:
        return f"request {self.number} of {self.holder}"
