"""The pages of the form: the form itself, its parts while it is filled in, and its submission."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from pydantic import ValidationError

from apps.accounts.models import User, account_of, default_visibility
from apps.agents.models import Agent
from apps.benchmarks.reading import offered_to
from apps.htmx import wants_part
from apps.jobs import estimates, operations
from apps.jobs.decisions import checks
from apps.jobs.errors import JobRefusal, UnknownAgent
from apps.jobs.filing import PRIORITIES, Filing
from apps.jobs.form import entries, matrix, picker
from apps.jobs.form.forms import EvaluationForm, prefilled
from apps.jobs.models import Job
from apps.jobs.results import datasets
from gem import benchmarks
from gem.errors import UsageError
from gem.evaluation.submission import Submission
from gem.validation.messages import field_errors

MAX_COMPARABLE = 30
"""The newest jobs of which those are offered that a job can be compared with."""


@never_cache
@require_http_methods(["GET", "POST"])
def submit(request: HttpRequest) -> HttpResponse:
    """The form for evaluations. A visitor without an account logs in on the way, and the entries are kept."""
    if request.method == "GET":
        values = {**_initial(request), **prefilled(request.GET)}
        if not values["env_id"] and "benchmark" not in values:
            values["benchmark"] = benchmarks.names()[0]
        return _page(request, EvaluationForm(initial=values), request.GET)
    if not isinstance(request.user, User):
        back = f"{resolve_url('jobs:submit')}?{urlencode(entries.pairs_of(request.POST))}"
        messages.info(request, "Log in to submit the job. Your entries are kept.")
        return redirect_to_login(back)
    form = EvaluationForm(request.POST)
    if form.is_valid() and form.spec is not None:
        try:
            jobs = operations.submit_all(
                request.user,
                form.spec.specs,
                Filing.of(form.spec),
                idempotency_key=form.cleaned_data["idempotency_key"],
            )
        except JobRefusal as refusal:
            _add_refusal(form, refusal)
        else:
            return redirect(jobs[0] if len(jobs) == 1 else f"{resolve_url('jobs:list')}?group={jobs[0].group}")
    else:
        _add_unknown_agents(request.user, form)
    return _page(request, form, request.POST, status=422)


@never_cache
@require_POST
def change(request: HttpRequest) -> HttpResponse:
    """A button of the form was pressed, such as "Add": the form with it done, and nothing submitted.

    htmx gets the parts that change: after a search what was found, otherwise all that follows from what is chosen.
    """
    searched = request.headers.get("HX-Trigger-Name", "")
    if wants_part(request) and searched in entries.SEARCHES:
        part = "agents-found" if searched == "find_agent" else "found"
        context = _choices(request, EvaluationForm(initial=prefilled(request.POST)), request.POST)
        return render(request, f"jobs/choices.html#{part}", context)
    data = entries.changed(request.POST)
    if not wants_part(request):
        return _page(request, EvaluationForm(initial=_initial(request) | prefilled(data)), data)
    choices = _choices(request, EvaluationForm(initial=prefilled(data)), data)
    entries.set_table(data, choices["table"], [agent.slug for agent in choices["agents"]])
    context = {**choices, **_estimate(request, EvaluationForm(data)), "out_of_band": True}
    return render(request, "jobs/submit.html#changed", context)


@never_cache
@require_POST
def paste(request: HttpRequest) -> HttpResponse:
    """The form filled in with a document, and all that is wrong with it. Nothing is submitted."""
    text = request.POST.get("paste", "")
    kept = {"idempotency_key": request.POST.get("idempotency_key", "")}
    try:
        document = entries.read_document(text)
    except UsageError as error:
        form = EvaluationForm(initial=_initial(request) | prefilled(request.POST) | kept)
        return _page(request, form, request.POST, status=422, pasted=text, paste_errors=[str(error)])
    data = entries.of_document(document)
    for name, value in {**_defaults(), **_initial(request), **kept}.items():
        if name not in data and name != "agent":
            data[name] = str(value)
    form = EvaluationForm(data)
    elsewhere = _errors_without_field(form, document)
    if form.is_valid() and not elsewhere:
        values = {name: data[name] for name in data if name not in entries.SEVERAL}
        return _page(request, EvaluationForm(initial=values | prefilled(data)), data)
    return _page(request, form, data, status=422, pasted=text, paste_errors=elsewhere)


def _errors_without_field(form: EvaluationForm, document: Mapping[str, Any]) -> list[str]:
    """Add to the form what is wrong with a document, and return what concerns none of its fields."""
    try:
        Submission.model_validate(document)
    except ValidationError as error:
        found = field_errors(error, Submission, form.labels())
    else:
        return []
    elsewhere = []
    for place, sentence in found:
        form.is_valid()
        name = form.field_of(place)
        if name is None:
            elsewhere.append(sentence)
        elif name not in form.errors:
            form.add_error(name, sentence)
    return elsewhere


@never_cache
@require_http_methods(["GET", "POST"])
def estimate(request: HttpRequest) -> HttpResponse:
    """The estimate for the current entries of the form, with the same as JSON, as fragments."""
    form = EvaluationForm(request.GET if request.method == "GET" else request.POST)
    return render(request, "jobs/submit.html#beside", {**_estimate(request, form), "out_of_band": True})


def _page(
    request: HttpRequest,
    form: EvaluationForm,
    data: QueryDict,
    *,
    status: int = 200,
    pasted: str = "",
    paste_errors: Sequence[str] = (),
) -> HttpResponse:
    """The whole page with this form."""
    choices = _choices(request, form, data)
    estimated = form
    if not form.is_bound:
        shown = entries.of_values({**_defaults(), **form.initial})
        entries.set_table(shown, choices["table"], [agent.slug for agent in choices["agents"]])
        estimated = EvaluationForm(shown)
    own = offered_to(request.user, str(form["benchmark"].value() or ""))
    context = {
        "withheld": Agent.objects.withheld_from(request.user, *form.chosen_agents).first(),
        "benchmarks": [benchmarks.load(name) for name in benchmarks.names()] + own,
        "hidden": benchmarks.with_hidden_seeds()
        | {each.name for each in own if benchmarks.has_hidden_seeds(each.name)},
        "pasted": pasted,
        "paste_errors": paste_errors,
        **choices,
        **_estimate(request, estimated),
    }
    return render(request, "jobs/submit.html", context, status=status)


def _choices(request: HttpRequest, form: EvaluationForm, data: QueryDict) -> dict[str, Any]:
    """What is found and chosen, and the table of who plays what."""
    form.offer(Agent.objects.offered_to(request.user, *form.chosen_agents, str(form["opponent"].value() or "")))
    tokens = [str(token) for token in form["env_id"].value() or []]
    ids = picker.known_ids(tokens)
    chosen_tokens = picker.tokens_of(ids)
    agents = picker.chosen_agents(request.user, form.chosen_agents)
    agents_found, agents_more = picker.find_agents(request.user, data.get("find_agent", ""), form.chosen_agents)
    experts = {agent.slug for agent in agents if agent.kind == Agent.Kind.EXPERT}
    columns = [slug for slug in (form["column"].value() or []) if slug in form.chosen_agents]
    pairs = matrix.left_out(form["row"].value() or [], columns, form["cell"].value() or [], ids, experts)
    has_table = bool(ids) and (len(agents) > 1 or bool(pairs) or bool(experts))
    opened = form["opened"].value() or []
    return {
        "form": form,
        "search": picker.Search.read(data),
        "groups": picker.Search.read(data).groups(ids),
        "tokens": chosen_tokens,
        "unknown": [token for token in tokens if not picker.known_ids([token])],
        "chosen_count": len(ids),
        "agents": agents,
        "unusable": [slug for slug in form.chosen_agents if slug not in {agent.slug for agent in agents}],
        "agents_found": agents_found,
        "agents_more": agents_more,
        "find_agent": data.get("find_agent", "")[:80],
        "find": data.get("find", "")[:200],
        "table": matrix.table(chosen_tokens, agents, pairs, opened, _played(request, agents, ids)) if has_table else [],
        "opened": opened,
    }


def _played(request: HttpRequest, agents: Sequence[Agent], env_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """Counted episodes by agent and environment, as far as this person may know of them."""
    known = Job.objects.listed_for(request.user)
    return {
        agent.slug: {env_id: pace.episodes for env_id, pace in estimates.paces(agent, env_ids, None, known).items()}
        for agent in agents
    }


def _initial(request: HttpRequest) -> dict[str, Any]:
    visibility = default_visibility(request.user)
    return {"agent": ["random"], "idempotency_key": uuid.uuid4().hex, "visibility": visibility.value}


def _defaults() -> dict[str, Any]:
    return {name: field.initial for name, field in EvaluationForm.base_fields.items() if field.initial is not None}


def _estimate(request: HttpRequest, form: EvaluationForm) -> dict[str, Any]:
    """The estimate of each job of a submission."""
    owner = account_of(request.user)
    points = (request.GET if request.method == "GET" else request.POST).get("points", "")[:20]
    wanted = estimates.wanted_points(points)
    nothing: dict[str, Any] = {"checked": form, "estimates": [], "document": "", "points": points, "wanted": wanted}
    if not form.is_valid() or form.spec is None:
        return nothing
    specs = form.spec.specs
    try:
        agents = operations.check_all(owner, specs)
    except JobRefusal as refusal:
        document = form.document
        _add_refusal(form, refusal)
        return {**nothing, "document": document}
    known = Job.objects.listed_for(request.user)
    newest = known.evaluations().filter(archived=None).select_related("agent").order_by("-created")[:MAX_COMPARABLE]
    priority = PRIORITIES[form.spec.priority]
    found = [
        (agent, estimates.estimate(agent, spec, known, request.user.pk, priority=priority))
        for agent, spec in zip(agents, specs, strict=True)
    ]
    own_paces = {agent.pk: estimate.forecast.own for agent, estimate in found}
    powers = estimates.powers(agents, specs, known, own_paces)
    return {
        **nothing,
        "estimates": found,
        "powers": [_with_seeds(power, wanted) for power in powers],
        "document": form.document,
        "comparable": [job for job in newest if checks.plays_the_same(specs[0], job)],
        "episodes": sum(spec.episodes_total for spec in specs),
        "expected_data": datasets.expected(dict.fromkeys(env_id for spec in specs for env_id in spec.env_ids)),
    }


def _with_seeds(power: estimates.Power, wanted: float | None) -> tuple[estimates.Power, int | None, int | None]:
    """What a submission can show, with the seeds that a difference needs: of all environments, and of each."""
    needed = power.seeds_needed(wanted) if wanted else None
    return power, needed, None if needed is None else needed // power.environments


def _add_unknown_agents(owner: User, form: EvaluationForm) -> None:
    """Name agents that this person cannot evaluate beside what else is wrong with the entries."""
    opponent = form["opponent"].value()
    chosen = [("agent", slug) for slug in form.chosen_agents] + ([("opponent", opponent)] if opponent else [])
    for name, slug in chosen:
        try:
            operations.find_agent(owner, slug)
        except UnknownAgent as refusal:
            form.add_error(name, str(refusal))


def _add_refusal(form: EvaluationForm, refusal: JobRefusal) -> None:
    for reason in refusal.all:
        form.add_error(reason.field or None, str(reason))
