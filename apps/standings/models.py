"""What workers have computed, and pages read by its key."""

from __future__ import annotations

from typing import Any

from django.db import models

from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs.models import Job


class JobResult(models.Model):
    """The results of an evaluation that is done, by environment: one row instead of all its episodes.

    It says nothing about who may see the job: readers look that up, because it changes.
    """

    job = models.OneToOneField(Job, models.CASCADE, primary_key=True, related_name="result")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="results")
    version = models.PositiveIntegerField(default=1)
    """The version of the set-up of an endpoint; 1 of other agents."""
    setting = models.CharField(max_length=200, blank=True, default="")
    """What sets it apart from other results: the tools, the wrappers or the opponent, in words. Empty without any."""
    environments: models.Field[Any, list[dict[str, Any]]] = models.JSONField(default=list)
    """One `measuring.Measured` for each environment, as plain data."""
    games: models.Field[Any, list[list[Any]]] = models.JSONField(default=list)
    """Environment, agents in the first and the second seat, and how often the first won, tied and lost."""
    ended = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["agent", "-ended"], name="results_of_agent"),
            models.Index(fields=["job"], condition=~models.Q(games=[]), name="results_with_games"),
        ]

    def __str__(self) -> str:
        return f"results of {self.job_id}"


class Profile(models.Model):
    """What the page of an agent shows, composed of the results of its public evaluations (`profiles`)."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="profile")
    content: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict)
    computed = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"profile of {self.agent_id}"


class Game(models.Model):
    """The result of a live game of two, or of a duel of two agents on one seed. Those of jobs are in `JobResult`."""

    class Result(models.TextChoices):
        WON = "won"
        TIED = "tied"
        LOST = "lost"

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="game")
    """The episode; of a duel, that of its first agent."""
    env_id = models.CharField(max_length=120)
    first = models.ForeignKey(Agent, models.CASCADE, related_name="+")
    """The agent in the first seat, or the first of a duel."""
    second = models.ForeignKey(Agent, models.CASCADE, related_name="+")
    result = models.CharField(max_length=4, choices=Result.choices)
    """For the first."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["created"], name="games_by_time")]

    def __str__(self) -> str:
        return f"game {self.episode_id}: {self.result}"


class Summary(models.Model):
    """One thing that is computed now and then for everybody: the ratings, or the people of a benchmark."""

    name = models.CharField(primary_key=True, max_length=160)
    content: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict)
    mark = models.CharField(max_length=200, blank=True, default="")
    """What it was computed from, in short. If that is the same again, nothing need be computed."""
    computed = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.name
