"""The live events of a training, which update its open pages."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.jobs.models import Job, JobEvent
from apps.live.topics import Event
from apps.trainings import pages


def events(job: Job, after: int, audience: str) -> list[Event]:
    """One event for all changes since `after`. The page fetches new points of its curves itself."""
    happened = list(JobEvent.objects.for_log().filter(job=job, seq__gt=after, seq__lte=job.seq))
    context = {**pages.training(job), "happened": happened, "swap": True}
    return [Event(job.seq, render_to_string("trainings/event.html", context))]
