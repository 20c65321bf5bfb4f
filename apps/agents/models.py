"""Whatever acts in a seat of an episode."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models

from apps.accounts.models import Viewer


class AgentQuerySet(models.QuerySet["Agent"]):
    """Reads of agents."""

    def selectable_by(self, user: Viewer) -> AgentQuerySet:
        """The agents that `user` may put into a seat: the built-in ones and their own."""
        mine = models.Q(owner=user) if user.is_authenticated else models.Q()
        return self.exclude(kind=Agent.Kind.HUMAN).filter(models.Q(owner=None) | mine)


class Agent(models.Model):
    """One agent; built-in ones have no owner."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        RANDOM = "random"
        EXPERT = "expert"
        ENDPOINT = "endpoint"
        CHECKPOINT = "checkpoint"

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    about = models.TextField(blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="agents")
    colour = models.PositiveSmallIntegerField()
    """1 to 8: the agent's colour on every page and chart (`data-c`)."""
    listed = models.BooleanField(default=True, db_default=True)
    """Offered in forms. The single checkpoints of a training are not: they are found through it."""
    created = models.DateTimeField(auto_now_add=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    @property
    def cut(self) -> str:
        """The icon of its kind: the cut of the stone."""
        return f"cut-{self.kind}"


class Weights(models.Model):
    """What a checkpoint agent plays with: a folder that was looked at before it was taken."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="weights")
    folder = models.CharField(max_length=200)
    """Below `settings.RUNS_DIR`."""
    card = models.JSONField(default=dict)
    """Its `card.json`: what it was trained on, how, how far, and how it is to be played."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes of the weights."""
    sha256 = models.CharField(max_length=64, blank=True)
    """Of the weights."""

    def __str__(self) -> str:
        return f"weights of {self.agent}"

    @property
    def path(self) -> Path:
        """The folder, which `make_agent("policy", path=...)` loads."""
        return Path(settings.RUNS_DIR) / self.folder
