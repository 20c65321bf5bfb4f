"""Rankings: which ranks the rows of a board may have, computed by a worker and kept, so that pages only read them."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Coalesce

from apps.leaderboard.models.scores import Score
from apps.seasons.models import Season


class RankingQuerySet(models.QuerySet["Ranking"]):
    """Reads of rankings."""

    def of(self, benchmark: str, version: int) -> RankingQuerySet:
        """Those of a version of a benchmark."""
        return self.filter(benchmark=benchmark, version=version)


class Ranking(models.Model):
    """The ranking of the rows of a benchmark that rank together: of one season, one group of tiers, with tools or not.

    `rows` are the ids of the overall scores that were compared. While they are not those that the board has now, a
    worker computes the ranking again.
    """

    class Group(models.TextChoices):
        PLAYED_HERE = "played here", "reproduced and hosted"
        VERIFIED = "verified"
        REPORTED = "reported"

    benchmark = models.CharField(max_length=80)
    version = models.PositiveIntegerField()
    season = models.ForeignKey(Season, models.CASCADE, null=True, blank=True, related_name="rankings")
    """None of rows on published seeds."""
    group = models.CharField(max_length=12, choices=Group.choices)
    with_tools = models.BooleanField()
    rows: models.Field[Any, list[int]] = models.JSONField(default=list)
    """The ids of the overall scores, sorted."""
    ranks: models.Field[Any, dict[str, dict[str, list[int]]]] = models.JSONField(default=dict)
    """The best and the worst rank by the id of the overall score, by environment; of the whole benchmark under ''."""
    claims: models.Field[Any, list[list[Any]]] = models.JSONField(default=list)
    """For each pair of rows: their ids, the difference of their scores, the ends of its interval, its p-value after
    Holm's correction."""
    computed = models.DateTimeField(null=True, blank=True)
    begun = models.DateTimeField(null=True, blank=True)
    """When a worker began to compute it; None when none computes it."""

    objects = RankingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "benchmark", "version", Coalesce("season_id", 0), "group", "with_tools", name="one_ranking_per_board"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_group_display()} rows of {self.benchmark} v{self.version}"


class FirstPlaceQuerySet(models.QuerySet["FirstPlace"]):
    """Reads of first places."""

    def public(self) -> FirstPlaceQuerySet:
        """Those of rows that everybody may see, and that were not withdrawn since."""
        shown = Score.objects.shown().public().exclude(mark=Score.Mark.WITHDRAWN)
        return self.filter(score__in=shown)


class FirstPlace(models.Model):
    """That a row began to lead its board. Each is written once, when a worker has computed the ranks."""

    ranking = models.ForeignKey(Ranking, models.CASCADE, related_name="first_places")
    score = models.ForeignKey(Score, models.CASCADE, related_name="first_places")
    """The overall score of the row."""
    worst = models.PositiveIntegerField()
    """The worst rank that it could have at that time; 1 if it was surely first."""
    created = models.DateTimeField(auto_now_add=True)

    objects = FirstPlaceQuerySet.as_manager()

    class Meta:
        ordering = ["-created", "-pk"]
        indexes = [models.Index(fields=["-created", "-id"], name="newest_first_places")]

    def __str__(self) -> str:
        return f"{self.score_id} leads the {self.ranking}"
