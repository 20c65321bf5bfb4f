"""Rows that administrators can hide: everybody but their owners gets a 404, also in lists, downloads and sockets.

Being hidden is independent of what owners choose for their rows: each app's reads combine both with `shown`.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import Q

from apps.accounts.models import User, Viewer

Row = TypeVar("Row", bound="Moderated")


class ModeratedQuerySet(models.QuerySet[Row]):
    """Reads of rows that may be hidden."""

    def is_shown(self) -> Q:
        """The condition that a row is not hidden, by itself or with something that it belongs to."""
        return Q(hidden_reason="")

    def belongs_to(self, user: User) -> Q:
        """The condition that a row belongs to this person, who sees it although it is hidden."""
        return Q(owner=user)

    def hidden(self) -> Self:
        """Rows that administrators have hidden."""
        return self.exclude(self.is_shown())

    def shown(self) -> Self:
        """Rows that are not hidden, for lists that everybody gets."""
        return self.filter(self.is_shown())

    def shown_to(self, viewer: Viewer) -> Self:
        """Rows that are not hidden, and the viewer's own."""
        is_own = self.belongs_to(viewer) if isinstance(viewer, User) else Q(pk__in=[])
        return self.filter(self.is_shown() | is_own)


class Moderated(models.Model):
    """A row that can be hidden. Its manager is made from a `ModeratedQuerySet`."""

    hidden_reason = models.TextField(blank=True, default="", db_default="")
    """Why administrators have hidden it, as its owner reads it; empty if it is not hidden."""

    class Meta:
        abstract = True

    def reason_to_hide(self) -> str:
        """Why it is hidden, by itself or with something that it belongs to; empty if it is not."""
        return self.hidden_reason


def may_open(row: Any, viewer: Viewer) -> bool:
    """Whether this person may open a row: it is not hidden, or theirs, or they are an administrator."""
    if not row.reason_to_hide():
        return True
    if not isinstance(viewer, User):
        return False
    rows = type(row).objects.filter(pk=row.pk)
    return viewer.is_staff or bool(rows.filter(rows.belongs_to(viewer)).exists())
