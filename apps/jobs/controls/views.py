"""What one changes and reads of a job while it runs: its controls, the episodes under way, its log, its progress."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from apps.accounts.models import User
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.htmx import wants_part
from apps.jobs import controls, operations, pages, results
from apps.jobs.controls import logs, seats
from apps.jobs.errors import CannotChange, JobRefusal, NotYours
from apps.jobs.models import Job
from apps.jobs.views import button, find_evaluation, find_job, only_evaluation

MAX_UNDER_WAY = 500
MAX_DIGITS = 10
NOT_THE_OWNER = "This job belongs to somebody else. Only its owner can take a seat in its episodes."


@button
def control(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Change how an evaluation is played: `do` says what."""
    only_evaluation(job)
    act = _ACTS.get(request.POST.get("do", ""))
    try:
        if act is None:
            messages.info(request, "Nothing was changed.")
        else:
            act(job.pk, by, request.POST)
    except NotYours:
        raise
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
    return redirect(f"{job.get_absolute_url()}under-way/" if "under-way" in request.POST else job)


def _number(sent: QueryDict, name: str) -> int | None:
    """A number of the form; None if it is left empty.

    Raises:
        CannotChange: if it is none.
    """
    text = sent.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < MAX_DIGITS):
        raise CannotChange(f"{text[:20]!r} is not a whole number.")
    return int(text)


def _slot(sent: QueryDict) -> int:
    slot = _number(sent, "slot")
    if slot is None:
        raise CannotChange("Choose an episode.")
    return slot


def _set_pace(job_id: str, by: User, sent: QueryDict) -> object:
    num_envs, max_workers = _number(sent, "num_envs"), _number(sent, "max_workers")
    return controls.set_pace(job_id, by, num_envs=num_envs, max_workers=max_workers)


_ACTS: dict[str, Callable[[str, User, QueryDict], object]] = {
    "pause": lambda job_id, by, _: controls.pause(job_id, by),
    "resume": lambda job_id, by, _: operations.resume(job_id, by),
    "pace": _set_pace,
    "fail-episode": lambda job_id, by, sent: controls.cancel_episode(job_id, by, _slot(sent), counts=True),
    "drop-episode": lambda job_id, by, sent: controls.cancel_episode(job_id, by, _slot(sent), counts=False),
    "requeue-episode": lambda job_id, by, sent: controls.requeue_episode(job_id, by, _slot(sent)),
    "retry": lambda job_id, by, sent: controls.retry_failed(job_id, by, sent.get("env_id", "")),
    "skip": lambda job_id, by, sent: controls.skip_environment(job_id, by, sent.get("env_id", "")),
    "bring-back": lambda job_id, by, sent: controls.bring_back(job_id, by, sent.get("env_id", "")),
}


@never_cache
@require_GET
def panel(request: HttpRequest, job_id: str) -> HttpResponse:
    """The controls of an evaluation as a fragment, which its page asks for when they have changed."""
    job = find_evaluation(request, job_id)
    return render(request, "jobs/controls.html", {**pages.controls(job, request.user), "swap": True})


@never_cache
@require_GET
def under_way(request: HttpRequest, job_id: str) -> HttpResponse:
    """The episodes of an evaluation that are being played now, with what its owner can do with each."""
    job = find_evaluation(request, job_id)
    found = results.under_way(job)
    context = {**pages.controls(job, request.user), "episodes": found[:MAX_UNDER_WAY], "number": len(found)}
    return render(request, "jobs/under_way.html", context)


@never_cache
@require_safe
def seat(request: HttpRequest, job_id: str, slot: int) -> HttpResponse:
    """Wait until a worker has let go of an episode in which its owner takes the seat."""
    job = find_evaluation(request, job_id)
    if not isinstance(request.user, User) or not job.may_be_changed_by(request.user):
        raise PermissionDenied(NOT_THE_OWNER)
    _check_slot(slot)
    is_broken_off = Episode.objects.filter(batch=job.batch_id, slot=slot).exists()
    context = {"job": job, "slot": slot, "is_broken_off": is_broken_off}
    return render(request, "jobs/seat.html#waiting" if wants_part(request) else "jobs/seat.html", context)


@require_POST
def take_seat(request: HttpRequest, job_id: str, slot: int) -> HttpResponse:
    """Take the seat in an episode that is under way: first it is broken off, and then its live page opens."""
    job = find_evaluation(request, job_id)
    if not isinstance(request.user, User):
        raise PermissionDenied(NOT_THE_OWNER)
    _check_slot(slot)
    try:
        episode = seats.take_seat(job.pk, request.user, slot)
    except NotYours as refusal:
        raise PermissionDenied(str(refusal)) from refusal
    except (JobRefusal, Refusal) as refusal:
        messages.error(request, str(refusal))
        return _go(request, reverse("jobs:under_way", args=[job.pk]))
    waiting = reverse("jobs:seat", args=[job.pk, slot])
    return _go(request, waiting if episode is None else episode.get_absolute_url())


def _check_slot(slot: int) -> None:
    if slot >= 2**31:
        raise Http404("There is no episode in this place of the job.")


def _go(request: HttpRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if wants_part(request) else redirect(address)


@never_cache
@require_GET
def log(request: HttpRequest, job_id: str) -> HttpResponse:
    """The log of a job, the newest line first, with a search."""
    job = find_job(request, job_id)
    text, level = _asked(request)
    before = request.GET.get("before", "")
    place = int(before) if before.isascii() and before.isdecimal() and len(before) < MAX_DIGITS else None
    page = logs.page_of_log(job, text, level, place)
    query = QueryDict(mutable=True)
    query.update({"q": text, "level": level})
    context = {"job": job, "page": page, "q": text, "level": level, "levels": logs.LEVELS, "query": query.urlencode()}
    return render(request, "jobs/log.html", {**context, "is_first": place is None})


@never_cache
@require_GET
def log_text(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """The log of a job as plain text, all of it or what a search finds."""
    return logs.download(request, find_job(request, job_id), *_asked(request))


def _asked(request: HttpRequest) -> tuple[str, str]:
    """The text and the level of a search."""
    text = request.GET.get("q", "").replace("\0", "")[: logs.MAX_SEARCH_CHARACTERS]
    level = request.GET.get("level", "all")
    return text, level if level in logs.LEVELS else "all"


@never_cache
@require_GET
def progress(request: HttpRequest, job_id: str) -> HttpResponse:
    """How far an evaluation is, as a fragment: a queued job asks for it, because others move it along."""
    job = find_evaluation(request, job_id)
    priced = pages.may_see_set_up(job, request.user)
    return render(request, "jobs/facts.html", pages.evaluation(job, cells=False, priced=priced))
