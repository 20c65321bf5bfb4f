"""Seasons of benchmarks, and the seeds that their keys hide."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from apps.agents.seal import unseal
from apps.seasons.numbers import first_number
from gem.benchmarks import seeds

DAILY = "daily"
"""What stands in the place of a benchmark's name in the seasons of daily seeds, of which each is one day."""
COMMON = 0
"""The submission of all rows that share their seeds: those of weights that we hold, and of built-in programs."""


class SeasonQuerySet(models.QuerySet["Season"]):
    """Reads of seasons."""

    def of(self, benchmark: str, version: int) -> SeasonQuerySet:
        """Those of a version of a benchmark, the newest first."""
        return self.filter(benchmark=benchmark, version=version).order_by("-number")

    def under_way(self) -> SeasonQuerySet:
        """Those in which jobs may begin."""
        return self.filter(ends__gt=Now())

    def over(self) -> SeasonQuerySet:
        """Those in which no further job may begin, and whose key is not published yet."""
        return self.filter(ends__lte=Now(), revealed_at=None)


class Season(models.Model):
    """The time in which a benchmark is played on the seeds of one key.

    `commitment` is public from the first day. The key is sealed; when the season is over and its last job has ended, it
    is published. Everybody can then derive the seeds (`gem.benchmarks.seeds`).
    """

    benchmark = models.CharField(max_length=80)
    version = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    sealed_key = models.TextField()
    """The key in hexadecimal digits, sealed (`apps.agents.seal`)."""
    commitment = models.CharField(max_length=64)
    """The SHA-256 of the key in hexadecimal digits."""
    published_key = models.CharField(max_length=64, blank=True, default="")
    """The key in hexadecimal digits; empty until the season is revealed."""
    hidden: models.Field[Any, dict[str, int]] = models.JSONField(default=dict)
    """The number of hidden seeds by environment, as the benchmark had them when the season began."""
    submissions = models.PositiveIntegerField(default=0)
    """The number of submissions that have seeds of their own."""
    begins = models.DateTimeField()
    ends = models.DateTimeField()
    revealed_at = models.DateTimeField(null=True, blank=True)

    objects = SeasonQuerySet.as_manager()

    class Meta:
        ordering = ["benchmark", "-version", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "version", "number"], name="one_season_per_number"),
        ]

    def __str__(self) -> str:
        return f"season {self.number} of {self.benchmark} v{self.version}"

    @property
    def is_day(self) -> bool:
        """Whether it is the day of a daily seed."""
        return self.benchmark == DAILY

    @property
    def is_over(self) -> bool:
        """Whether no further job may begin in it."""
        return self.ends <= timezone.now()

    @property
    def is_revealed(self) -> bool:
        """Whether its key is published, and its episodes are open."""
        return self.revealed_at is not None

    @cached_property
    def key(self) -> bytes:
        """The key itself, which must be in no log and no answer before the season is revealed.

        Raises:
            apps.agents.seal.CannotUnseal: if the file of keys does not have the one that sealed it.
        """
        secret = unseal(self.sealed_key)
        assert secret is not None  # it is sealed when the season begins
        return bytes.fromhex(secret.get_secret_value())

    def seeds(self, env_id: str, submission: int) -> list[int]:
        """The hidden seeds of a submission in an environment, in the order in which they are played."""
        scope = scope_of(submission)
        order = seeds.order_of_play(self.key, self.benchmark, self.version, scope, self.hidden[env_id])
        drawn = (self.key, self.benchmark, self.version, env_id, scope)
        return [seeds.derive_seed(*drawn, index) for index in order]

    def numbers(self, env_id: str, submission: int) -> range:
        """The numbers that stand for these seeds, in the same order."""
        first = first_number(self.pk, submission)
        return range(first, first + self.hidden[env_id])


def scope_of(submission: int) -> str:
    """What the seeds of a submission depend on besides the key: `common`, or its number."""
    return seeds.COMMON if submission == COMMON else str(submission)
