"""Remote agents, the questions that wait for their answers, and the keys of episodes that are played as chats."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now
from django.urls import reverse
from django.utils import timezone

from apps.agents.models import Agent
from apps.episodes.models import Episode

KEY_LENGTH = 64
PLACE_LENGTH = 120
USUAL_SEATS, MOST_SEATS = 4, 64
OF_JOB = "-"
"""Stands in the key of an episode of a job, after the id of the job."""


class Remote(models.Model):
    """What is known of an agent that runs elsewhere: how much it plays at a time, and its connection."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="remote")
    seats = models.PositiveSmallIntegerField(default=USUAL_SEATS)
    """The turns that it is asked for at a time. Further ones wait for their turn."""
    holder = models.UUIDField(null=True, blank=True)
    """The connection that is open; a newer one takes its place."""
    alive_until = models.DateTimeField(null=True, blank=True)
    """The web process renews it while the connection is open. It is over before its end only if it was closed."""
    since = models.DateTimeField(null=True, blank=True)
    """When the last connection was opened; null if there was none."""
    came_from = models.CharField(max_length=80, blank=True, default="", db_default="")
    """The name of the token of the last connection, such as laptop."""
    turn_seconds = models.FloatField(null=True, blank=True)
    """How long its last answer took."""

    def __str__(self) -> str:
        return f"remote {self.agent_id}"

    @property
    def is_connected(self) -> bool:
        """Whether its connection is open."""
        return self.alive_until is not None and self.alive_until > timezone.now()

    @property
    def path(self) -> str:
        """The path of the socket that its program connects to."""
        return f"/agents/{self.agent.slug}/line"


class QuestionQuerySet(models.QuerySet["Question"]):
    """Reads of questions."""

    def awaited(self) -> QuestionQuerySet:
        """Those that a worker waits for."""
        return self.filter(awaited_until__gt=Now())

    def unanswered(self) -> QuestionQuerySet:
        """Those that nobody has answered."""
        return self.filter(answered=None)

    def on_the_line(self) -> QuestionQuerySet:
        """Those for the connection of the agent; the others are answered with the key of their episode."""
        by_key = EpisodeKey.objects.filter(episode_id=models.OuterRef("episode"), expires__gt=Now())
        return self.exclude(models.Exists(by_key))


class Question(models.Model):
    """A turn that a worker wants a remote agent to decide on. It is deleted when the worker has read the answer."""

    agent = models.ForeignKey(Agent, models.CASCADE, related_name="questions")
    episode = models.CharField(max_length=KEY_LENGTH)
    """The episode for the agent: the id of a live episode, or of one of a job a key that says nothing."""
    turn = models.PositiveIntegerField()
    seat = models.PositiveSmallIntegerField(default=0)
    env_id = models.CharField(max_length=120)
    observation = models.TextField()
    """Everything that there is to read."""
    info = models.JSONField(default=dict)
    past = models.JSONField(default=list)
    """The earlier turns of the seat as pairs of observation and action, the oldest first, as far as they fit."""
    place = models.CharField(max_length=PLACE_LENGTH)
    """Where it is played, in words."""
    created = models.DateTimeField(db_default=Now())
    awaited_until = models.DateTimeField()
    """The worker prolongs it while it waits."""
    sent = models.DateTimeField(null=True, blank=True)
    """When it was last sent to the agent; null while it was not."""
    sent_to = models.UUIDField(null=True, blank=True)
    """The connection that it was last sent to."""
    answer = models.TextField(blank=True, default="", db_default="")
    extra = models.JSONField(default=dict)
    """What the agent says about its answer, for the record of the turn."""
    answered = models.DateTimeField(null=True, blank=True)

    objects = QuestionQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["agent", "episode", "turn", "seat"], name="one_question_per_turn"),
        )
        indexes = (models.Index(fields=["awaited_until"], name="questions_by_wait"),)

    def __str__(self) -> str:
        return f"turn {self.turn} of {self.episode}"

    @property
    def address(self) -> str:
        """The page where it is played."""
        key, _, is_of_job = self.episode.partition(OF_JOB)
        return reverse("jobs:job", args=[key]) if is_of_job else reverse("episodes:episode", args=[key])


class EpisodeKey(models.Model):
    """The key with which a program that speaks chat completions plays one live episode. Only a digest is stored."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="chat_key")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    expires = models.DateTimeField()
    replies = models.PositiveIntegerField(default=0)
    """How many requests were answered."""
    last_request = models.CharField(max_length=64, blank=True)
    """The digest of the last request that was answered, by which a repeated one is known."""
    last_reply = models.TextField(blank=True)
    """Empty while the last request is being answered."""
    opening = models.JSONField(default=list)
    """The messages of the first request, which are kept with the first turn."""

    def __str__(self) -> str:
        return f"key of {self.episode_id}"
