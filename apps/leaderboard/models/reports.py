"""Results that somebody reports: numbers from elsewhere, which nothing proves."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse

from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, make_id
from apps.leaderboard.models.challenges import Challenge
from apps.moderation.moderated import Moderated
from apps.visibility import Person, Visibility, VisibleQuerySet, column
from gem.benchmarks import Benchmark


class ReportedRowQuerySet(VisibleQuerySet["ReportedRow"]):
    """Reads of reported rows."""

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`. Visitors report nothing."""
        return models.Q(owner=user.pk) if user.is_authenticated else models.Q(pk__in=[])

    def of(self, benchmark: Benchmark) -> ReportedRowQuerySet:
        """Those on the present version of a benchmark, the best first."""
        rows = self.filter(benchmark=benchmark.name, benchmark_version=benchmark.version)
        return rows.select_related("owner").order_by("-score", "created")


class ReportedRow(Moderated):
    """What somebody says that an agent has reached on a benchmark, by environment."""

    class Source(models.TextChoices):
        NUMBERS = "numbers", "numbers, without episodes"
        CHALLENGE = "challenge", "episodes of a challenge, with outputs that do not repeat"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="reported_rows")
    agent_name = models.CharField(max_length=80)
    declared = models.CharField(max_length=8, choices=Agent.Nature.choices)
    benchmark = models.CharField(max_length=80)
    benchmark_version = models.PositiveIntegerField()
    tools = models.TextField(blank=True, default="")
    """The tools and their budget, in words; empty without tools."""
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.NUMBERS)
    challenge = models.ForeignKey(Challenge, models.SET_NULL, null=True, blank=True, related_name="reported_rows")
    numbers: models.Field[Any, list[dict[str, Any]]] = models.JSONField()
    """Of each environment: `env_id`, `mean_return`, `episodes`, `success_rate` and `score`."""
    score = models.FloatField()
    """The mean of the scores of all environments, by the rule of the benchmark."""
    episodes = models.PositiveIntegerField()
    link = models.URLField(blank=True, default="", max_length=400)
    """Where the result is published."""
    notes = models.TextField(blank=True, default="")
    visibility = column(Visibility.PUBLIC)
    created = models.DateTimeField(auto_now_add=True)

    objects = ReportedRowQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        indexes = [
            models.Index(fields=["benchmark", "benchmark_version", "-score"]),
            models.Index(fields=["owner", "-created"]),
        ]

    def __str__(self) -> str:
        return f"{self.agent_name} on {self.benchmark}: {self.score:.3f}, as reported"

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("leaderboard:reported", args=[self.pk])

    @property
    def is_link_of_web(self) -> bool:
        """Whether a browser may open its link."""
        return self.link.startswith(("https://", "http://"))
