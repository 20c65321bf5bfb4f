"""People with an account. Playing and watching need none; submitting jobs does."""

from typing import TypeAlias

from django.contrib.auth.models import AbstractUser, AnonymousUser


class User(AbstractUser):
    """A person. It is our own class from the first migration on, so that it can grow."""


Viewer: TypeAlias = User | AnonymousUser
"""Whoever looks at a page."""
