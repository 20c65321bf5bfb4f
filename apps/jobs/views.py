"""Pages of jobs: the list, one job, and the buttons on it. The form is in `apps.jobs.form.views`."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial, wraps
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.models import User, Viewer
from apps.benchmarks.reading import choices_on
from apps.episodes.lists.paging import page_of
from apps.jobs import operations, pages, results, topics
from apps.jobs.afterwards.forms import DescriptionForm
from apps.jobs.afterwards.operations import reason_to_keep
from apps.jobs.books.reading import spec_of
from apps.jobs.decisions.reading import verdicts
from apps.jobs.errors import CannotChange, JobRefusal, NotYours, TooManyJobs, UnknownAgent
from apps.jobs.exports.offers import offers
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job, JobQuerySet
from apps.jobs.results import finished
from apps.jobs.results.finished import ENDINGS
from apps.visibility import save_choice
from gem.evaluation.compare import MAX_RUNS, MIN_RUNS

JOBS_ON_A_PAGE = 25
EPISODES_ON_A_PAGE = 100
RECENT = 5
KEY_LENGTH = 80
MAX_FILTER = 200
"""Characters of a search among jobs."""
REPLACED = "replaced"
"""The choice in the list of episodes of those that were not counted and were played again."""


# ------------------------------------------------------------------ lists


@never_cache
@require_GET
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """Jobs, newest first: those of everybody or of the user, in any state or in one, and how they are filed."""
    mine = request.GET.get("whose") == "mine"
    state = request.GET.get("state", "")
    archived = request.GET.get("archived") == "1"
    filed = {name: request.GET.get(name, "").replace("\0", "")[:MAX_FILTER] for name in ("q", "tag", "group")}
    jobs = Job.objects.owned(request.user) if mine else Job.objects.listed_for(request.user)
    jobs = jobs.filter(archived__isnull=not archived)
    jobs = jobs.filed_under(request.user, words=filed["q"], tag=filed["tag"], group=filed["group"])
    if state in Job.State.values:
        jobs = jobs.filter(state=state)
    page = page_of(jobs, request.GET, JobQuerySet.for_list, JOBS_ON_A_PAGE)
    kept = {name: value for name, value in filed.items() if value}
    whose = {**({"whose": "mine"} if mine else {}), **({"archived": "1"} if archived else {})}
    shown = {"page": page, "items": pages.items(page.rows), "mine": mine, "state": state, "states": Job.State.choices}
    together = [job.pk for job in page.rows if job.kind == Job.Kind.EVALUATION][::-1] if filed["group"] else []
    restored = Job.objects.listed_for(request.user).filter(state=Job.State.PAUSED).exclude(reason="")
    context = {
        **shown,
        **filed,
        "filed": bool(kept),
        "query": urlencode({**whose, "state": state, **kept}),
        "in_any_state": urlencode({**whose, **kept}),
        "of_all": urlencode({"state": state, **({"archived": "1"} if archived else {}), **kept}),
        "archived": archived,
        "in_other_place": urlencode({**({"whose": "mine"} if mine else {}), **({} if archived else {"archived": "1"})}),
        "restored": restored.count(),
        "comparable": urlencode({"job": together}, doseq=True) if MIN_RUNS <= len(together) <= MAX_RUNS else "",
    }
    return render(request, "jobs/list.html", context)


@never_cache
@require_GET
def recent(request: HttpRequest) -> HttpResponse:
    """The latest jobs, as a fragment for other pages."""
    jobs = Job.objects.listed_for(request.user).filter(archived=None).for_list().order_by("-created")[:RECENT]
    return render(request, "jobs/recent.html", {"items": pages.items(jobs)})


# ------------------------------------------------------------------ one job


@never_cache
@require_GET
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """The page of a job. Later changes come through the socket."""
    job = find_job(request, job_id)
    return kind_of(job).page(request, job)


def evaluation(request: HttpRequest, job: Job) -> HttpResponse:
    """The page of a job that evaluates an agent."""
    page_by_env = _pages(request)
    may_see_set_up = pages.may_see_set_up(job, request.user)
    contents = pages.evaluation(job, pages=page_by_env, priced=may_see_set_up)
    context = {
        **contents,
        **pages.set_up(job, priced=may_see_set_up),
        **pages.controls(job, request.user),
        "audience": topics.audience(first=all(page == 1 for page in page_by_env.values()), priced=may_see_set_up),
        "key": uuid.uuid4().hex,
        "parent": parent_of(job, request.user),
        "verdicts": verdicts(job, request.user),
        "is_mine": job.owner is not None and job.owner == request.user,
        "may_see_set_up": may_see_set_up,
        "again": pages.again(job, request.user, contents["decision"], priced=may_see_set_up),
        "offers": offers(job),
        "reason_to_keep": reason_to_keep(job),
        "description": DescriptionForm(
            auto_id="job_%s", initial={"name": job.name, "notes": job.notes, "tags": ", ".join(job.tags)}
        ),
    }
    return render(request, "jobs/evaluation.html", context)


@never_cache
@require_GET
def episodes(request: HttpRequest, job_id: str) -> HttpResponse:
    """All finished episodes of an evaluation in pages, optionally of one environment or outcome, or replaced ones."""
    job = find_evaluation(request, job_id)
    env_id, outcome = request.GET.get("env_id", ""), request.GET.get("outcome", "")
    env_id_or_all = env_id if env_id in job.spec["env_ids"] else ""
    outcome_or_all = outcome if outcome in ENDINGS else ""
    seed = finished.seed_of(request.GET.get("seed", ""))
    may_see_hidden = job.may_be_changed_by(request.user)
    if outcome == REPLACED:
        page = finished.page_of_replaced(job, EPISODES_ON_A_PAGE, env_id=env_id_or_all, hidden=may_see_hidden)
        count: int | None = len(page.rows)
    else:
        page = finished.page_of(
            job,
            request.GET,
            EPISODES_ON_A_PAGE,
            env_id=env_id_or_all,
            ending=outcome_or_all,
            seed=seed,
            hidden=may_see_hidden,
        )
        count = finished.count(job, env_id_or_all, outcome_or_all) if seed is None else None
    context = {
        "job": job,
        "seed": seed,
        "page": page,
        "count": count,
        "env_id": env_id,
        "outcome": outcome,
        "outcomes": {state: results.WORDS[state] for state in ENDINGS} | {REPLACED: "replaced by a retry"},
    }
    return render(request, "jobs/episodes.html", context)


@require_GET
def of_episode(request: HttpRequest, episode_id: str) -> HttpResponse:
    """Redirect to the job of an episode; for a sample of a training, to the page at its update."""
    job = Job.objects.visible_to(request.user).filter(batch__episodes=episode_id).first()
    if job is None:
        raise Http404("This episode was not played in a job.")
    sample = job.samples.filter(episode=episode_id).first()
    return redirect(f"{job.get_absolute_url()}?update={sample.update}" if sample else job)


@require_GET
def spec(request: HttpRequest, job_id: str) -> HttpResponse:
    """The request of a job as JSON."""
    job = find_job(request, job_id)
    shown = spec_of(job, priced=pages.may_see_set_up(job, request.user))
    return JsonResponse(shown, json_dumps_params={"indent": 2})


Button = Callable[[HttpRequest, Job, User], HttpResponse]


def button(view: Button) -> Callable[[HttpRequest, str], HttpResponse]:
    """The address of a button on a job: people log in first, and others than its owner are refused."""

    @require_POST
    @wraps(view)
    def press(request: HttpRequest, job_id: str) -> HttpResponse:
        job = find_job(request, job_id)
        if not isinstance(request.user, User):
            return redirect_to_login(job.get_absolute_url())
        try:
            return view(request, job, request.user)
        except NotYours as refusal:
            raise PermissionDenied(str(refusal)) from refusal

    return press


@button
def visibility(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Change who may see a job. Only its owner can."""
    if job.owner != by:
        raise NotYours("Only the owner of a job can change who may see it.")
    save_choice(request, partial(operations.set_visibility, job), choices_on(job.spec.get("benchmark")))
    return redirect(job)


@button
def cancel(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Cancel a job. Finished episodes are kept."""
    cancelled = operations.cancel(job.pk, by)
    if cancelled.state != Job.State.CANCELLED:
        messages.info(
            request, f"The job had already ended ({cancelled.state_in_words}), so there was nothing to cancel."
        )
    return redirect(cancelled)


@button
def resume(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Continue an evaluation that a restore has paused."""
    try:
        operations.resume(only_evaluation(job).pk, by)
    except (UnknownAgent, CannotChange, TooManyJobs) as refusal:
        messages.error(request, f"The job stays paused. {refusal}")
    return redirect(job)


@button
def resubmit(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Submit the request of an evaluation again, as a job of the user."""
    try:
        key = request.POST.get("idempotency_key", "")[:KEY_LENGTH]
        again = operations.resubmit(only_evaluation(job).pk, by, idempotency_key=key)
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
        return redirect(job)
    return redirect(again)


def parent_of(job: Job, viewer: Viewer) -> Job | None:
    """The training that this job was forked from or evaluates, if this person may see it."""
    return Job.objects.visible_to(viewer).filter(pk=job.parent_id).first() if job.parent_id else None


def find_job(request: HttpRequest, job_id: str) -> Job:
    """The job with this id.

    Raises:
        Http404: if there is none that this person may see.
    """
    job = Job.objects.visible_to(request.user).for_page().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no job {job_id}.")
    return job


def find_evaluation(request: HttpRequest, job_id: str) -> Job:
    """The evaluation with this id. Raises the same errors as `find_job`."""
    return only_evaluation(find_job(request, job_id))


def only_evaluation(job: Job) -> Job:
    """The job, if it is an evaluation; otherwise `Http404`."""
    if job.kind != Job.Kind.EVALUATION:
        raise Http404(f"The job {job.pk} is a training, and only evaluations have this address.")
    return job


def _pages(request: HttpRequest) -> dict[str, int]:
    """The page of the grid by environment, from `?env_id=...&page=2`."""
    page = request.GET.get("page", "")
    if not (page.isascii() and page.isdecimal() and 0 < len(page) < 6):
        return {}
    return {request.GET.get("env_id", ""): int(page)}
