"""How each kind of job is shown: the app of a kind registers that in `AppConfig.ready`. Trainings have an app above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from apps.jobs.models import Job
from apps.live.topics import Event


@dataclass(frozen=True, slots=True)
class KindOfJob:
    """How jobs of one kind are shown."""

    page: Callable[[HttpRequest, Job], HttpResponse]
    """The page of a job that was fetched `for_page`."""
    events: Callable[[Job, int, str], list[Event]]
    """What has happened to a job after a `seq`, for an audience: as `Topic.events`."""


_KINDS: dict[str, KindOfJob] = {}


def register(kind: Job.Kind, shown: KindOfJob) -> None:
    """Show jobs of this kind so; called in an app's `AppConfig.ready`."""
    _KINDS[kind.value] = shown


def kind_of(job: Job) -> KindOfJob:
    """How this job is shown."""
    return _KINDS[job.kind]
