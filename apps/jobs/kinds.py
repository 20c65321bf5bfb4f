"""The page and the live events of each kind of job.

The app of a kind registers them in `AppConfig.ready`, because the app of trainings depends on this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from apps.jobs.models import Job, JobEvent
from apps.live.topics import Event
from gem.client.events import Event as ProgramEvent


@dataclass(frozen=True, slots=True)
class KindOfJob:
    """The page and the live events of jobs of one kind."""

    page: Callable[[HttpRequest, Job], HttpResponse]
    """The view of a job that was fetched with `for_page`."""
    events: Callable[[Job, int, str], list[Event]]
    """The events of a job after a `seq`, for an audience: see `Topic.events`."""
    publish: Callable[[Job, Sequence[JobEvent]], Iterable[ProgramEvent]]
    """The events for programs that these rows of the job's log stand for."""
    alarms: Callable[[Job], list[str]] = lambda _: []
    """The titles of the alarms that hold, which lists mark."""
    seconds_left: Callable[[Job], float | None] = lambda _: None
    """Of trainings: the time until the end at the pace so far; None if nothing is known."""


_KINDS: dict[str, KindOfJob] = {}


def register(kind: Job.Kind, kind_of_job: KindOfJob) -> None:
    """Register a kind of job. Called in an app's `AppConfig.ready`."""
    _KINDS[kind.value] = kind_of_job


def kind_of(job: Job) -> KindOfJob:
    """The page and the live events of this job."""
    return _KINDS[job.kind]
