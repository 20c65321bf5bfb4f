"""People with an account. Playing and watching need none; submitting jobs does."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from django.contrib.auth.models import AbstractUser, AnonymousUser, UserManager
from django.db import models
from django.db.models.functions import Lower


class PeopleManager(UserManager["User"]):
    """Finds people whatever the case they write their name in."""

    def get_by_natural_key(self, username: str | None) -> User:
        """The person who logs in as `username`.

        Raises:
            User.DoesNotExist: if there is none.
        """
        return self.get(username__iexact=username)


class User(AbstractUser):
    """A person. It is our own class from the first migration on, so that it can grow."""

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
"""Whoever looks at a page."""


def account_of(viewer: Viewer) -> User | None:
    """The account of whoever looks at a page; None for a visitor."""
    return viewer if isinstance(viewer, User) else None
