"""The live topic of studies, which updates their open pages."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.live.topics import Event
from apps.studies.models import Study
from apps.studies.pages.progress import progress


class StudyTopic:
    """Studies by id: whoever may see one may watch it."""

    def current(self, key: str) -> int | None:
        """See `Topic.current`."""
        return Study.objects.filter(pk=key).values_list("seq", flat=True).first()

    def shows(self, key: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.shows`."""
        return Study.objects.visible_to(viewer).filter(pk=key).exists()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.allows`. There is one audience."""
        return audience == "watch"

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event for all changes since `after`. The page fetches the figures itself when a run has ended."""
        study = Study.objects.filter(pk=key).first()
        if study is None or study.seq <= after:
            return []
        return [Event(study.seq, render_to_string("studies/event.html", {"study": study, **progress(study)}))]
