"""What a job's page hears while it is open."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.jobs import pages
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job, JobEvent
from apps.live.topics import Event

AUDIENCES = {"first", "other"}
"""`first` shows the first page of the grid of every environment, whose cells change; `other` another one."""

UNSETTLING = {JobEvent.Kind.REQUEUED, JobEvent.Kind.ENDED}
"""After these, episodes that were running are not: all cells are drawn anew."""


class JobTopic:
    """Jobs by id: anybody may watch any job."""

    def current(self, key: str) -> int | None:
        """As `Topic.current`."""
        return Job.objects.filter(pk=key).values_list("seq", flat=True).first()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """As `Topic.allows`."""
        return audience in AUDIENCES and Job.objects.filter(pk=key).exists()

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """What has changed since `after`, as the kind of the job tells it."""
        job = Job.objects.for_page().filter(pk=key).first()
        if job is None or job.seq <= after:
            return []
        return kind_of(job).events(job, after, audience)


def evaluation_events(job: Job, after: int, audience: str) -> list[Event]:
    """One event for everything since `after`: the sums anew, and the cells that changed."""
    happened = list(JobEvent.objects.filter(job=job, seq__gt=after, seq__lte=job.seq))
    taken_back = any(event.kind in UNSETTLING for event in happened)
    changed = None if taken_back else {slot for event in happened for slot in event.slots}
    shown = pages.evaluation(job, cells=audience == "first", only=changed)
    return [Event(job.seq, render_to_string("jobs/event.html", {**shown, "happened": happened, "swap": True}))]
