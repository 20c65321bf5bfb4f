"""The live topic of jobs, which updates their open pages."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.jobs import pages
from apps.jobs.exports.offers import offers
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job, JobEvent
from apps.live.topics import Event

PRICED = "-priced"
"""The end of the name of an audience that may see the set-up of the agent, and with it the cost."""
AUDIENCES = {f"{part}{end}" for part in ("first", "other") for end in ("", PRICED)}
"""`first`: every environment shows the first page of its grid, whose cells are updated. `other`: some show another."""

PACE_SECONDS = 1.0
"""A message replaces the sums, a table, and the cells of some hundred episodes, while the workers of a fast job end
several chunks a second."""

UNSETTLING_KINDS = {
    JobEvent.Kind.REQUEUED,
    JobEvent.Kind.PAUSED,
    JobEvent.Kind.RESUMED,
    JobEvent.Kind.CHANGED,
    JobEvent.Kind.RETRIED,
    JobEvent.Kind.ENDED,
}
"""After these events other episodes are running than before, so all cells are sent anew."""
CONTROL_KINDS = UNSETTLING_KINDS - {JobEvent.Kind.REQUEUED}


def audience(*, first: bool, priced: bool) -> str:
    """The name of the audience of a page."""
    return ("first" if first else "other") + (PRICED if priced else "")


class JobTopic:
    """Jobs by id: whoever may see a job may watch it."""

    def current(self, key: str) -> int | None:
        """See `Topic.current`."""
        return Job.objects.filter(pk=key).values_list("seq", flat=True).first()

    def shows(self, key: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.shows`."""
        return Job.objects.visible_to(viewer).filter(pk=key).exists()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.allows`."""
        if audience not in AUDIENCES:
            return False
        job = Job.objects.filter(pk=key).first() if audience.endswith(PRICED) else None
        return job is None or pages.may_see_set_up(job, viewer)

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """The changes since `after`, rendered by the kind of the job."""
        job = Job.objects.for_page().filter(pk=key).first()
        if job is None or job.seq <= after:
            return []
        return kind_of(job).events(job, after, audience)


def evaluation_events(job: Job, after: int, audience: str) -> list[Event]:
    """One event for all changes since `after`: the new sums, and the cells that changed."""
    happened = list(JobEvent.objects.filter(job=job, seq__gt=after, seq__lte=job.seq))
    is_unsettled = any(event.kind in UNSETTLING_KINDS for event in happened)
    changed_slots = None if is_unsettled else {slot for event in happened for slot in event.slots}
    shows_cells, priced = audience.startswith("first"), audience.endswith(PRICED)
    context = pages.evaluation(job, cells=shows_cells, only=changed_slots, priced=priced)
    context |= {"happened": happened, "swap": True, "controls_due": any(map(_concerns_controls, happened))}
    context |= {"offers": offers(job)} if job.over else {}
    return [Event(job.seq, render_to_string("jobs/event.html", context))]


def _concerns_controls(event: JobEvent) -> bool:
    """Whether the controls of the job may show something else after this event."""
    return event.kind in CONTROL_KINDS or (event.kind == JobEvent.Kind.EPISODES and event.tone == JobEvent.Tone.LOSS)
