"""Rows that administrators can hide: everybody but their owners gets a 404, also in lists, downloads and sockets.

Being hidden is independent of the visibility that owners choose. `apps.visibility` decides with both of them.
"""

from __future__ import annotations

from django.db import models


class Moderated(models.Model):
    """A row that can be hidden. Its manager is made from a `VisibleQuerySet`."""

    hidden_reason = models.TextField(blank=True, default="", db_default="")
    """Why administrators have hidden it, as its owner reads it; empty if it is not hidden."""

    class Meta:
        abstract = True

    def reason_to_hide(self) -> str:
        """Why it is hidden, by itself or with something that it belongs to; empty if it is not."""
        return self.hidden_reason
