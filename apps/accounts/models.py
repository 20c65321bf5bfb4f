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

    objects: ClassVar[PeopleManager] = PeopleManager()

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                Lower("username"),
                name="one_person_per_name",
                violation_error_message="Somebody has this name already. Choose another one.",
            )
        ]


Viewer: TypeAlias = User | AnonymousUser
"""The person who looks at a page, with or without an account."""


def account_of(viewer: Viewer) -> User | None:
    """The account of the person who looks at a page; None for a visitor."""
    return viewer if isinstance(viewer, User) else None


def default_visibility(viewer: Viewer | None) -> Visibility:
    """The visibility of what this person begins without choosing one. Of visitors and of the site itself: public."""
    return Visibility(viewer.default_visibility) if isinstance(viewer, User) else Visibility.PUBLIC
