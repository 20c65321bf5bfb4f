"""The live topic of trainings elsewhere, which updates their open pages."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.curves.models import OutsideTraining
from apps.live.topics import Event


class OutsideTopic:
    """Trainings elsewhere by id: whoever may see one may watch it."""

    def current(self, key: str) -> int | None:
        """See `Topic.current`."""
        return OutsideTraining.objects.filter(pk=key).values_list("seq", flat=True).first()

    def shows(self, key: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.shows`."""
        return OutsideTraining.objects.visible_to(viewer).filter(pk=key).exists()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.allows`. There is one audience."""
        return audience == "watch"

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event for all changes since `after`. The page fetches new points of its curves itself."""
        row = OutsideTraining.objects.filter(pk=key).first()
        if row is None or row.seq <= after:
            return []
        return [Event(row.seq, render_to_string("curves/event.html", {"training": row, "swap": True}))]
