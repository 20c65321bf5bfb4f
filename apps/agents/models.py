"""Whatever acts in a seat of an episode."""

from __future__ import annotations

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
