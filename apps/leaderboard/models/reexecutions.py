"""The re-execution of the episodes behind a row, which waits for a worker, is under way, or has a result."""

from __future__ import annotations

from typing import Any

from django.db import models

from apps.accounts import quotas
from apps.admission.models import Admitted
from apps.jobs.models import Job
from apps.leases import LeasedQuerySet


class ReexecutionQuerySet(LeasedQuerySet["Reexecution"]):
    """Reads of re-executions."""

    def waiting(self) -> ReexecutionQuerySet:
        """Those without a result."""
        return self.filter(state=Reexecution.State.WAITING)

    def affordable(self) -> ReexecutionQuerySet:
        """Those whose submitters have CPU seconds left today; rows of the site itself always."""
        over = quotas.people_over_cpu()
        return self.exclude(job__owner__in=over) if over else self

    def verified(self) -> ReexecutionQuerySet:
        """Those that found every episode as it was recorded."""
        return self.filter(state=Reexecution.State.VERIFIED)


class Reexecution(Admitted):
    """The re-execution of all episodes of a ranked job. Its row ranks when every episode gave again what was recorded.

    A worker owns it for some seconds, and adds to `leaves` what it has executed; the next one goes on after them.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "being verified"
        VERIFIED = "verified", "verified"
        DIFFERS = "differs", "not verified"
        UNKNOWN = "unknown", "cannot be verified"

    class Choices(models.TextChoices):
        NONE = "", "not repeated"
        SAME = "same", "repeated"
        OTHER_MACHINE = "other machine", "not comparable"

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="reexecution")
    state = models.CharField(max_length=12, choices=State.choices, default=State.WAITING)
    tier = models.CharField(max_length=12, blank=True, default="")
    """Of a verified row: see `gem.verification.certificates.Tier`."""
    choices = models.CharField(max_length=16, choices=Choices.choices, blank=True, default="")
    """Whether the agent chose the same actions again, where we hold what it plays with."""
    leaves: models.Field[Any, list[list[Any]]] = models.JSONField(default=list)
    """Environment, index and digest of every episode that was executed, in the order of the slots."""
    turns = models.PositiveBigIntegerField(default=0)
    actions = models.PositiveBigIntegerField(default=0)
    """The actions that the agent was asked for again."""
    seconds = models.FloatField(default=0.0)
    """For which workers were busy with it."""
    notes: models.Field[Any, dict[str, int]] = models.JSONField(default=dict)
    """What was taken from the records, as sentences, and of how many episodes."""
    field = models.CharField(max_length=40, blank=True, default="")
    """Of the first difference: what differs, such as `reward`."""
    place = models.CharField(max_length=200, blank=True, default="")
    """Of the first difference: the environment and the index of the episode, which are public."""
    difference = models.TextField(blank=True, default="")
    """The first difference as a sentence. It may quote an observation, so it is closed while the season runs."""
    engine_version = models.CharField(max_length=40, blank=True, default="")
    """The engine that executed the episodes."""
    certificate: models.Field[Any, dict[str, Any] | None] = models.JSONField(null=True, default=None)
    """The signed certificate as plain data (`gem.verification.certificates.sign`)."""
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = ReexecutionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["created"], condition=models.Q(state="waiting"), name="rows_to_verify"),
        ]

    def __str__(self) -> str:
        return f"re-execution of {self.job_id}: {self.state}"

    @property
    def executed(self) -> int:
        """The episodes that were executed so far."""
        return len(self.leaves)
