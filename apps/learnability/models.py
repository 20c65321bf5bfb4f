"""The probe of one version of an environment: it waits for a worker, and is kept."""

from __future__ import annotations

from typing import Any

from django.db import models

from apps.admission.models import Admitted
from apps.episodes.models import ID_LENGTH, make_id
from apps.leases import LeasedQuerySet

RULES = 1
"""The number of the rules of `gem.learnability`. With another one, an environment is probed again."""


class ProbeQuerySet(LeasedQuerySet["Probe"]):
    """Reads of probes."""

    def waiting(self) -> ProbeQuerySet:
        """Those that wait for a worker or are under way."""
        return self.filter(state=Probe.State.WAITING)


class Probe(Admitted):
    """What playing an environment without thinking has shown. It belongs to nobody, and everybody may see it."""

    class State(models.TextChoices):
        WAITING = "waiting", "being computed"
        DONE = "done", "computed"
        FAILED = "failed", "ended early"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    env_id = models.CharField(max_length=200)
    env_version = models.PositiveIntegerField()
    rules = models.PositiveSmallIntegerField(default=RULES)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    sentence = models.TextField(blank=True, default="")
    """Why it ended early."""
    content: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict)
    """The report, as `apps.learnability.computing.content_of` writes it; empty before the end."""
    seconds = models.FloatField(default=0.0)
    """For which a worker was busy with it."""
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = ProbeQuerySet.as_manager()

    class Meta:
        ordering = ["created", "pk"]
        indexes = [models.Index(fields=["created"], condition=models.Q(state="waiting"), name="probes_to_compute")]
        constraints = [
            models.UniqueConstraint(fields=["env_id", "env_version", "rules"], name="one_probe_of_an_environment")
        ]

    def __str__(self) -> str:
        return f"probe of {self.env_id} v{self.env_version}: {self.state}"
