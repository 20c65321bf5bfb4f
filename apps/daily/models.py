"""Tries at daily seeds."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.seasons.models import Season


class TryQuerySet(models.QuerySet["Try"]):
    """Reads of tries."""

    def of_people(self) -> TryQuerySet:
        """Those of people."""
        return self.filter(agent=None)

    def of_agents(self) -> TryQuerySet:
        """Those of agents."""
        return self.filter(user=None)

    def over(self) -> TryQuerySet:
        """Those with a result, without what administrators have hidden."""
        shown = models.Q(agent=None) | models.Q(agent__hidden_reason="")
        return self.exclude(ended=None).filter(shown, episode__hidden_reason="")


class Try(models.Model):
    """The one try of a person with an account, or of an agent, at the seed of a day. Those of guests are no rows."""

    season = models.ForeignKey(Season, models.PROTECT, related_name="tries")
    """The day: see `days`."""
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="daily_tries"
    )
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, blank=True, related_name="daily_tries")
    episode = models.OneToOneField(Episode, models.CASCADE, related_name="daily_try")
    solved = models.BooleanField(default=False)
    turns = models.PositiveIntegerField(default=0)
    score = models.FloatField(default=0.0)
    """The return."""
    tokens = models.PositiveBigIntegerField(null=True, blank=True)
    begun = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)
    """When it ended, or the day before it did; null while it runs."""

    objects = TryQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["season", "user"], name="one_try_per_person_and_day"),
            models.UniqueConstraint(fields=["season", "agent"], name="one_try_per_agent_and_day"),
            models.CheckConstraint(
                condition=models.Q(user=None, agent__isnull=False) | models.Q(user__isnull=False, agent=None),
                name="a_try_is_of_a_person_or_an_agent",
            ),
        ]
        indexes = [models.Index(fields=["season", "-solved", "turns"], name="tries_by_result")]

    def __str__(self) -> str:
        return f"try {self.pk} of {self.season_id}"
