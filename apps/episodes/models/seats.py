"""Seats of episodes."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.visibility import Person

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
"""The names of the seats on pages."""


class Seat(models.Model):
    """A place in an episode, with the agent or person who acts from it."""

    pk = models.CompositePrimaryKey("episode_id", "number")
    episode = models.ForeignKey(
        "episodes.Episode", models.CASCADE, related_name="seats", db_index=False
    )  # the key begins with it
    number = models.PositiveSmallIntegerField()
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="seats")
    """The person in it; of an agent's seat, the person who has taken it (`apps.play.shows.handovers`)."""
    visitor = models.CharField(max_length=32, blank=True)
    """The visitor key, from the session, of a person without an account."""
    name = models.CharField(max_length=24, blank=True, default="", db_default="")
    """The name that a person without an account has chosen."""
    total_reward = models.FloatField(default=0.0)
    success = models.BooleanField(null=True, blank=True)
    """Whether the seat succeeded; empty while the episode runs."""
    set_up = models.JSONField(null=True, blank=True)
    """The agent's set-up at the start (`Agent.set_up`). Episodes of a job have it on the job."""
    held = models.TextField(blank=True, default="", db_default="")
    """If all seats choose at the same time: the action of this seat, until the seats before it have chosen."""
    held_address = models.CharField(max_length=32, blank=True, default="", db_default="")
    """The hashed IP address of the person without an account who sent the last action that was held."""
    advised = models.BooleanField(default=False, db_default=False)
    """Whether the person got a hint from the expert."""

    class Meta:
        indexes = [models.Index(fields=["user", "episode"]), models.Index(fields=["agent", "episode"])]

    def __str__(self) -> str:
        return f"{self.agent} in seat {self.number}"

    @property
    def ordinal(self) -> str:
        """Its name on pages: seat 0 is the "first"."""
        return ORDINALS[self.number]

    @property
    def who(self) -> str:
        """The name of who acts from it: of an agent, of a guest, or of a person with an account who allows it."""
        if self.user_id is not None and self.user is not None:
            return self.user.get_username() if self.user.is_named else self.agent.name
        return f"{self.name} (guest)" if self.name else self.agent.name

    @property
    def is_free(self) -> bool:
        """Whether the seat is for a person and nobody has taken it yet."""
        return self.agent.kind == Agent.Kind.HUMAN and self.user_id is None and not self.visitor

    @property
    def is_persons(self) -> bool:
        """Whether a person acts from it now, or may."""
        return self.agent.kind == Agent.Kind.HUMAN or self.is_taken

    @property
    def is_taken(self) -> bool:
        """Whether a person has taken it from its agent, who gets it back."""
        return self.agent.kind != Agent.Kind.HUMAN and (self.user_id is not None or bool(self.visitor))

    def belongs_to(self, user: Viewer, visitor: str) -> bool:
        """Whether this person has the seat: one for people, or one that they have taken from an agent."""
        if self.user_id is not None:
            return user.is_authenticated and self.user_id == user.pk
        return bool(visitor) and self.visitor == visitor


def seated(user: Person, visitor: str) -> models.Q:
    """A filter for the episodes in which this person, or a visitor with this key, has a seat."""
    mine = models.Q(user=user.pk) if user.is_authenticated else models.Q(user=None, visitor=visitor)
    return models.Q(pk__in=Seat.objects.filter(mine).values("episode"))


TAKEN = ~models.Q(agent__kind=Agent.Kind.HUMAN) & (models.Q(user__isnull=False) | ~models.Q(visitor=""))
"""A filter for the seats that people have taken from agents."""
OF_PEOPLE = models.Q(agent__kind=Agent.Kind.HUMAN) | models.Q(user__isnull=False) | ~models.Q(visitor="")
"""A filter for the seats from which people act now."""
