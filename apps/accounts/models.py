"""Accounts. People can play and watch without one; they need one to submit jobs."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from django.contrib.auth.models import AbstractUser, AnonymousUser, UserManager
from django.db import models
from django.db.models.functions import Lower

from apps.visibility import Visibility, column


class PeopleManager(UserManager["User"]):
    """Finds users by name, ignoring case."""

    def get_by_natural_key(self, username: str | None) -> User:
        """The user with this name.

        Raises:
            User.DoesNotExist: if there is none.
        """
        return self.get(username__iexact=username)


class User(AbstractUser):
    """A person with an account. Django recommends a custom user class from the first migration on."""

    default_visibility = column()
    """The visibility of episodes, duels, evaluations and trainings that they begin without choosing one."""
    agent_visibility = column(Visibility.PRIVATE)
    """The visibility of endpoint agents and uploaded checkpoints that they add without choosing one."""
    is_named = models.BooleanField(default=False, db_default=False)
    """Whether leaderboards, daily seeds and games show their name. Otherwise their results count among those of all
    people."""
    closed = models.DateTimeField(null=True, blank=True)
    """When its owner deleted it, or when the scheduler last failed to delete the row with all that belongs to it."""

    objects: ClassVar[PeopleManager] = PeopleManager()

    @property
    def former_name(self) -> str:
        """The name of a closed account, until nothing mentions it any more. This column of Django has no other use."""
        return self.first_name

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="one_person_per_name",
                violation_error_message="Somebody has this name already. Choose another one.",
            )
        ]


class QuotaOverride(models.Model):
    """The limit that administrators have given one person, instead of everybody's (`apps.accounts.quotas`)."""

    user = models.ForeignKey(User, models.CASCADE, related_name="quota_overrides")
    quota = models.CharField(max_length=40)
    """The quota's name."""
    most = models.PositiveBigIntegerField(null=True)
    """None for no limit."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "quota"], name="one_override_per_quota")]

    def __str__(self) -> str:
        return f"{self.quota} of {self.user}: {self.most}"


class CpuUse(models.Model):
    """The CPU seconds that workers have spent for a person on one day, UTC."""

    class Use(models.TextChoices):
        JOBS = "jobs", "evaluations"
        TRAININGS = "trainings"
        LIVE = "live", "live episodes and slow turns"
        CHECKS = "checks", "checks of what was sent"

    user = models.ForeignKey(User, models.CASCADE, related_name="cpu_uses")
    day = models.DateField()
    use = models.CharField(max_length=12, choices=Use.choices)
    seconds = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "day", "use"], name="one_row_per_day_and_use")]
        indexes = [models.Index(fields=["day"], name="cpu_use_by_day")]

    def __str__(self) -> str:
        return f"{self.user} on {self.day}: {self.seconds:.0f} s of {self.use}"


Viewer: TypeAlias = User | AnonymousUser
"""The person who looks at a page, with or without an account."""


def account_of(viewer: Viewer) -> User | None:
    """The account of the person who looks at a page; None for a visitor."""
    return viewer if isinstance(viewer, User) else None


def default_visibility(viewer: Viewer | None) -> Visibility:
    """The visibility of what this person begins without choosing one. Of visitors and of the site itself: public."""
    return Visibility(viewer.default_visibility) if isinstance(viewer, User) else Visibility.PUBLIC
