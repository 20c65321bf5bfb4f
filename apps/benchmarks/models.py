"""Benchmarks that people have added, and their versions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from apps.moderation.moderated import Moderated
from apps.visibility import Person, Visibility, VisibleQuerySet, column

MAX_NAME = 80


class OwnBenchmarkQuerySet(VisibleQuerySet["OwnBenchmark"]):
    """Reads of benchmarks."""

    def owned_by(self, user: Person, visitor: str) -> Q:
        """See `VisibleQuerySet.owned_by`. Visitors have none."""
        return Q(owner=user.pk) if user.is_authenticated else Q(pk__in=[])

    def named(self, name: str) -> OwnBenchmarkQuerySet:
        """Those with this name; none if the text of an address is no name that could be stored."""
        return self.filter(name=name) if name.isprintable() and name.isascii() else self.none()

    def ready(self) -> OwnBenchmarkQuerySet:
        """Those of which some version can be played."""
        return self.filter(versions__state=BenchmarkVersion.State.READY).distinct()

    def known_to(self, user: Person) -> OwnBenchmarkQuerySet:
        """Those whose jobs and boards this person may read, also if administrators have hidden the page."""
        return self.all() if user.is_staff else self.filter(self._within(Visibility.UNLISTED) | self.owned_by(user, ""))


class OwnBenchmark(Moderated):
    """A benchmark of a person. Its name begins with theirs and a dot, so it is no name of another's."""

    name = models.CharField(max_length=MAX_NAME, unique=True)
    """Such as `ada.chess`: what jobs, seasons and addresses call it."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="benchmarks")
    visibility = column(Visibility.PRIVATE)
    """It can be opened, and never closed again, because others may have rows on it."""
    created = models.DateTimeField(auto_now_add=True)

    objects = OwnBenchmarkQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        indexes = [models.Index(fields=["owner", "-created"])]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("benchmarks:benchmark", args=[self.name])


class BenchmarkVersion(models.Model):
    """A version of a benchmark, which is never changed. A worker checks it before anything is played."""

    class State(models.TextChoices):
        CHECKING = "checking", "being checked"
        READY = "ready", "ready"
        REFUSED = "refused", "refused"

    benchmark = models.ForeignKey(OwnBenchmark, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    """The file, as `docs/benchmark-files.md` describes it, with the name before its owner's."""
    state = models.CharField(max_length=8, choices=State.choices, default=State.CHECKING)
    problems: models.Field[Any, list[str]] = models.JSONField(default=list)
    """All reasons for which it was refused, as sentences."""
    notes: models.Field[Any, list[str]] = models.JSONField(default=list)
    """What keeps it from being played on the machine that has checked it, as sentences."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "number"], condition=~Q(state="refused"), name="one_benchmark_version"
            )
        ]
        indexes = [models.Index(fields=["created"], condition=Q(state="checking"), name="benchmarks_to_check")]

    def __str__(self) -> str:
        return f"{self.benchmark} v{self.number}"
