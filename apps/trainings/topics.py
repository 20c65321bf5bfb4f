"""What a training's page hears while it is open."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.jobs.models import Job, JobEvent
from apps.live.topics import Event
from apps.trainings import pages


def events(job: Job, after: int, audience: str) -> list[Event]:
    """One event for everything since `after`: the facts anew; the page fetches the curves' new points itself."""
    happened = list(JobEvent.objects.filter(job=job, seq__gt=after, seq__lte=job.seq))
    shown = {**pages.training(job), "happened": happened, "swap": True}
    return [Event(job.seq, render_to_string("trainings/event.html", shown))]
