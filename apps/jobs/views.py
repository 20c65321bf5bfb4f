"""Pages of jobs: the list, the form, one job, and the buttons on it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial, wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import User, Viewer, account_of, default_visibility
from apps.agents.models import Agent
from apps.catalog.entries import all_entries
from apps.episodes.paging import page_of
from apps.jobs import estimates, operations, pages, results, topics
from apps.jobs.books.reading import spec_of
from apps.jobs.errors import JobRefusal, NoExpert, NoLimits, NotYours, TooManyEpisodes, UnknownAgent
from apps.jobs.forms import FIELDS, EvaluationForm, prefilled
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job
from apps.jobs.results import finished
from apps.jobs.results.finished import ENDINGS
from apps.visibility import save_choice
from gem import benchmarks

JOBS_ON_A_PAGE = 25
EPISODES_ON_A_PAGE = 100
RECENT = 5
KEY_LENGTH = 80


# ------------------------------------------------------------------ lists


@never_cache
@require_GET
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """Jobs, newest first: those of everybody or of the user, in any state or in one."""
    mine = request.GET.get("whose") == "mine"
    state = request.GET.get("state", "")
    jobs = Job.objects.owned(request.user) if mine else Job.objects.listed_for(request.user)
    if state in Job.State.values:
        jobs = jobs.filter(state=state)
    page = page_of(jobs, request.GET, Job.objects.for_page(), JOBS_ON_A_PAGE)
    query = urlencode({"whose": "mine", "state": state} if mine else {"state": state})
    shown = {"page": page, "items": pages.items(page.rows), "mine": mine, "state": state, "states": Job.State.choices}
    restored = Job.objects.listed_for(request.user).filter(state=Job.State.PAUSED).exclude(reason="")
    return render(request, "jobs/list.html", {**shown, "query": query, "restored": restored.count()})


@never_cache
@require_GET
def recent(request: HttpRequest) -> HttpResponse:
    """The latest jobs, as a fragment for other pages."""
    jobs = Job.objects.listed_for(request.user).for_page().order_by("-created")[:RECENT]
    return render(request, "jobs/recent.html", {"items": pages.items(jobs)})


# ------------------------------------------------------------------ the form


@never_cache
@require_http_methods(["GET", "POST"])
def submit(request: HttpRequest) -> HttpResponse:
    """The form for an evaluation. A visitor without an account logs in on the way, and the entries are kept."""
    if request.method == "GET":
        values = {**_initial(request), **prefilled(request.GET)}
        if not values["env_id"] and "benchmark" not in values:
            values["benchmark"] = benchmarks.names()[0]
        return render(request, "jobs/submit.html", _form_page(request, EvaluationForm(initial=values), values))
    if not isinstance(request.user, User):
        entries = [
            (name, value) for name in FIELDS for value in request.POST.getlist(name) if value or name == "benchmark"
        ]
        back = f"{resolve_url('jobs:submit')}?{urlencode(entries)}"
        messages.info(request, "Log in to submit the job. Your entries are kept.")
        return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': back})}")
    form = EvaluationForm(request.POST)
    if form.is_valid() and form.spec is not None:
        try:
            job = operations.submit(
                request.user,
                form.spec,
                name=form.cleaned_data["name"],
                idempotency_key=form.cleaned_data["idempotency_key"],
                visibility=form.cleaned_data["visibility"],
            )
        except JobRefusal as refusal:
            form.add_error(_field_of(refusal), str(refusal))
        else:
            return redirect(job)
    return render(request, "jobs/submit.html", _form_page(request, form, request.POST), status=422)


@never_cache
@require_GET
def estimate(request: HttpRequest) -> HttpResponse:
    """The estimate for the current entries of the form, as a fragment."""
    return render(request, "jobs/submit.html#estimate", _estimate(request, EvaluationForm(request.GET)))


def _form_page(request: HttpRequest, form: EvaluationForm, values: Any) -> dict[str, Any]:
    estimated = form if form.is_bound else EvaluationForm({**_defaults(), **form.initial})
    chosen_slugs = [str(form[name].value() or "") for name in ("agent", "opponent") if name in form.fields]
    agents = Agent.objects.offered_to(request.user, *chosen_slugs).select_related("endpoint", "owner")
    form.offer(agents)
    return {
        "form": form,
        "agents": agents,
        "withheld": Agent.objects.withheld_from(request.user, *chosen_slugs).first(),
        "benchmarks": [benchmarks.load(name) for name in benchmarks.names()],
        "entries": sorted(all_entries(), key=lambda entry: entry.place),
        **_estimate(request, estimated),
    }


def _initial(request: HttpRequest) -> dict[str, Any]:
    visibility = default_visibility(request.user)
    return {"agent": "random", "idempotency_key": uuid.uuid4().hex, "visibility": visibility.value}


def _defaults() -> dict[str, Any]:
    return {name: field.initial for name, field in EvaluationForm.base_fields.items() if field.initial is not None}


def _estimate(request: HttpRequest, form: EvaluationForm) -> dict[str, Any]:
    owner = account_of(request.user)
    if not form.is_valid() or form.spec is None:
        return {"checked": form, "estimate": None}
    try:
        agent = operations.check_players(owner, form.spec)
    except JobRefusal as refusal:
        form.add_error("agent", str(refusal))
        return {"checked": form, "estimate": None}
    known = Job.objects.listed_for(request.user)
    return {"checked": form, "estimate": estimates.estimate(agent, form.spec, known, request.user.pk)}


def _field_of(refusal: JobRefusal) -> str | None:
    if isinstance(refusal, UnknownAgent | NoExpert | NoLimits):
        return "agent"
    return "episodes_per_env" if isinstance(refusal, TooManyEpisodes) else None


# ------------------------------------------------------------------ one job


@never_cache
@require_GET
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """The page of a job. Later changes come through the socket."""
    job = _job(request, job_id)
    return kind_of(job).page(request, job)


def evaluation(request: HttpRequest, job: Job) -> HttpResponse:
    """The page of a job that evaluates an agent."""
    page_by_env = _pages(request)
    may_see_set_up = pages.may_see_set_up(job, request.user)
    contents = pages.evaluation(job, pages=page_by_env, priced=may_see_set_up)
    context = {
        **contents,
        **pages.set_up(job, priced=may_see_set_up),
        "audience": topics.audience(first=all(page == 1 for page in page_by_env.values()), priced=may_see_set_up),
        "key": uuid.uuid4().hex,
        "parent": parent_of(job, request.user),
        "is_mine": job.owner is not None and job.owner == request.user,
        "may_change": job.may_be_changed_by(request.user),
        "may_see_set_up": may_see_set_up,
    }
    return render(request, "jobs/evaluation.html", context)


@never_cache
@require_GET
def episodes(request: HttpRequest, job_id: str) -> HttpResponse:
    """All finished episodes of an evaluation in pages, optionally of one environment or outcome."""
    job = _evaluation(request, job_id)
    env_id, outcome = request.GET.get("env_id", ""), request.GET.get("outcome", "")
    env_id_or_all = env_id if env_id in job.spec["env_ids"] else ""
    outcome_or_all = outcome if outcome in ENDINGS else ""
    context = {
        "job": job,
        "page": finished.page_of(
            job,
            request.GET,
            EPISODES_ON_A_PAGE,
            env_id=env_id_or_all,
            ending=outcome_or_all,
            hidden=job.may_be_changed_by(request.user),
        ),
        "count": finished.count(job, env_id_or_all, outcome_or_all),
        "env_id": env_id,
        "outcome": outcome,
        "outcomes": {state: results.WORDS[state] for state in ENDINGS},
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
    job = _job(request, job_id)
    shown = spec_of(job, priced=pages.may_see_set_up(job, request.user))
    return JsonResponse(shown, json_dumps_params={"indent": 2})


Button = Callable[[HttpRequest, Job, User], HttpResponse]


def button(view: Button) -> Callable[[HttpRequest, str], HttpResponse]:
    """The address of a button on a job: people log in first, and others than its owner are refused."""

    @require_POST
    @wraps(view)
    def press(request: HttpRequest, job_id: str) -> HttpResponse:
        job = _job(request, job_id)
        if not isinstance(request.user, User):
            return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': job.get_absolute_url()})}")
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
    save_choice(request, partial(operations.set_visibility, job))
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
        operations.resume(_only_evaluation(job).pk, by)
    except UnknownAgent as refusal:
        messages.error(request, f"The job stays paused. {refusal}")
    return redirect(job)


@button
def resubmit(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Submit the request of an evaluation again, as a job of the user."""
    try:
        key = request.POST.get("idempotency_key", "")[:KEY_LENGTH]
        again = operations.resubmit(_only_evaluation(job).pk, by, idempotency_key=key)
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
        return redirect(job)
    return redirect(again)


def parent_of(job: Job, viewer: Viewer) -> Job | None:
    """The training that this job was forked from or evaluates, if this person may see it."""
    return Job.objects.visible_to(viewer).filter(pk=job.parent_id).first() if job.parent_id else None


def _job(request: HttpRequest, job_id: str) -> Job:
    job = Job.objects.visible_to(request.user).for_page().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no job {job_id}.")
    return job


def _evaluation(request: HttpRequest, job_id: str) -> Job:
    return _only_evaluation(_job(request, job_id))


def _only_evaluation(job: Job) -> Job:
    if job.kind != Job.Kind.EVALUATION:
        raise Http404(f"The job {job.pk} is a training, and only evaluations have this address.")
    return job


def _pages(request: HttpRequest) -> dict[str, int]:
    """The page of the grid by environment, from `?env_id=...&page=2`."""
    page = request.GET.get("page", "")
    if not (page.isascii() and page.isdecimal() and 0 < len(page) < 6):
        return {}
    return {request.GET.get("env_id", ""): int(page)}
