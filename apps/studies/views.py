"""Pages of studies: the list, what recipes learned, the form that starts one, and one study with its figures."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from functools import wraps
from typing import TypeAlias
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.models import User
from apps.jobs.errors import JobRefusal, NotYours
from apps.studies import exports, operations, pages
from apps.studies.forms import OWN, StudyForm
from apps.studies.models import Study
from apps.studies.planning import results_of
from apps.trainings.views import installing
from apps.visibility import save_choice
from gem.studies.results import FolderResults
from gem.studies.study import all_studies

FIRST = "algorithms"
"""The study that the form begins with."""
KEPT_ENTRIES = ("study", "seeds", "environments", "reuses_results", "keeps_policies", "title", "visibility")
"""What is kept of the form while somebody logs in. A plan, which is too long for an address, the browser keeps."""


# ------------------------------------------------------------------ lists


@never_cache
@require_safe
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """The studies that come with gemweb, and those that people have started here."""
    mine = request.GET.get("whose") == "mine"
    rows = Study.objects.owned(request.user) if mine else Study.objects.listed_for(request.user)
    context = {
        **pages.tabs(),
        "recorded": pages.recorded_studies(),
        "started": rows.select_related("owner")[: pages.MOST],
        "mine": mine,
        "learned": pages.learned(),
    }
    return render(request, "studies/list.html", context)


@require_safe
def curves(request: HttpRequest) -> HttpResponse:
    """The learning curves of all recipes that were measured."""
    return render(request, "studies/curves.html", {**pages.tabs("curves"), **pages.curves_page(request.GET)})


@never_cache
@require_safe
def recipe(request: HttpRequest, name: str) -> HttpResponse:
    """What one recipe learned, and the trainings of this site that began with it."""
    shown = pages.recipe_page(name, request.user)
    if shown is None:
        raise Http404(f"There is no recipe {name} that was measured here.")
    return render(request, "studies/recipe.html", {**pages.tabs("curves"), **shown})


# ------------------------------------------------------------------ the form


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form that starts a study. A visitor without an account logs in on the way, and the entries are kept."""
    if request.method != "POST":
        form = StudyForm(request.user, initial=_initial(request))
        return render(request, "studies/new.html", _form_page(form))
    if not isinstance(request.user, User):
        messages.info(request, "Log in to start a study. Your entries are kept.")
        entries = [(name, value) for name in KEPT_ENTRIES for value in request.POST.getlist(name) if value]
        return redirect_to_login(f"{resolve_url('studies:new')}?{urlencode(entries)}")
    form = StudyForm(request.user, request.POST)
    if form.is_valid() and form.study_plan is not None:
        if "check" in request.POST:  # without JavaScript, the estimate comes with the whole page
            return render(request, "studies/new.html", _form_page(form))
        values = form.cleaned_data
        try:
            study = operations.start(
                request.user,
                form.study_plan,
                title=values["title"],
                visibility=values["visibility"],
                keeps_policies=values["keeps_policies"],
                reuses_results=values["reuses_results"],
                idempotency_key=values["idempotency_key"] or uuid.uuid4().hex,
            )
        except JobRefusal as refusal:
            form.add_error(refusal.field if refusal.field in form.fields else None, str(refusal))
        else:
            return redirect(study)
    return render(request, "studies/new.html", _form_page(form), status=422)


@require_POST
def estimate(request: HttpRequest) -> HttpResponse:
    """A fragment: how long the study of the form takes, or what is wrong with it. Nothing is started."""
    form = StudyForm(request.user, request.POST)
    form.is_valid()
    return render(request, "studies/new.html#estimate", _form_page(form))


def _initial(request: HttpRequest) -> dict[str, object]:
    """The first values of the form: those of the chosen study, and what the address says."""
    chosen = request.GET.get("study", "") or FIRST
    plan = next((plan for plan in all_studies() if plan.name == chosen), None)
    values: dict[str, object] = {"study": chosen if plan is not None else OWN, "idempotency_key": uuid.uuid4().hex}
    values["reuses_results"] = True
    if plan is not None:
        values |= {"seeds": plan.seeds, "environments": [*plan.environments]}
    else:
        values["plan"] = json.dumps(pages.EXAMPLE, indent=2)
    if any(name in request.GET for name in KEPT_ENTRIES[1:]):  # somebody has filled in the form and logged in
        values |= {name: request.GET.get(name, "") for name in KEPT_ENTRIES if name not in ("study", "environments")}
        values["environments"] = request.GET.getlist("environments")
    return values


def _form_page(form: StudyForm) -> dict[str, object]:
    return {
        **pages.tabs(),
        "form": form,
        "studies": all_studies(),
        "plan": form.chosen_plan,
        "is_own": form.chosen == OWN,
        "estimate": form.estimate,
        "installing": installing(),
    }


# ------------------------------------------------------------------ one that comes with gemweb


@require_safe
def recorded(request: HttpRequest, name: str) -> HttpResponse:
    """What a study shows whose results come with gemweb."""
    shown = pages.recorded(name)
    if shown is None:
        raise Http404(f"There is no study {name}.")
    return render(request, "studies/recorded.html", {**pages.tabs(name), **pages.figures(shown), "study": shown.study})


@require_safe
def recorded_results(request: HttpRequest, name: str) -> HttpResponseBase:
    """Download the plan and the results of a study that comes with gemweb."""
    plan = next((plan for plan in all_studies() if plan.name == name), None)
    if plan is None:
        raise Http404(f"There is no study {name}.")
    return exports.archive(request, plan.name, plan, FolderResults(plan))


# ------------------------------------------------------------------ one that somebody has started


@never_cache
@require_safe
def started(request: HttpRequest, study_id: str) -> HttpResponse:
    """The page of a study that somebody has started. Later changes come through the socket."""
    study = _find(request, study_id)
    context = {
        **pages.tabs(),
        **pages.progress(study),
        **pages.figures(pages.of_study(study)),
        "study": study,
        "is_mine": study.owner_id == request.user.pk,
        "may_change": study.may_be_changed_by(request.user),
        "env_ids": study.plan.env_ids,
        "plan_text": json.dumps(study.plan_data, indent=2, ensure_ascii=False),
    }
    return render(request, "studies/started.html", context)


@never_cache
@require_safe
def figures(request: HttpRequest, study_id: str) -> HttpResponse:
    """A fragment: the figures with what was made so far."""
    study = _find(request, study_id)
    return render(request, "studies/figures.html", {**pages.figures(pages.of_study(study)), "started": study})


@never_cache
@require_safe
def run(request: HttpRequest, study_id: str, number: int) -> HttpResponse:
    """One run of a study: its settings, its curve, and what it reached."""
    study = _find(request, study_id)
    shown = pages.one_run(study, number, request.user)
    if shown is None:
        raise Http404("There is no such run.")
    return render(request, "studies/run.html", {**pages.tabs(), "study": study, **shown})


@require_safe
def results(request: HttpRequest, study_id: str) -> HttpResponseBase:
    """Download the plan and the results that are there."""
    study = _find(request, study_id)
    plan = study.plan
    return exports.archive(request, exports.name_of(study, plan), plan, results_of(study, plan))


Button: TypeAlias = Callable[[HttpRequest, Study, User], HttpResponse]


def _button(view: Button) -> Callable[[HttpRequest, str], HttpResponse]:
    """The address of a button on a study: people log in first, and others than its owner are refused."""

    @require_POST
    @wraps(view)
    def press(request: HttpRequest, study_id: str) -> HttpResponse:
        study = _find(request, study_id)
        if not isinstance(request.user, User):
            return redirect_to_login(study.get_absolute_url())
        try:
            return view(request, study, request.user)
        except NotYours as refusal:
            raise PermissionDenied(str(refusal)) from refusal

    return press


@_button
def change(request: HttpRequest, study: Study, by: User) -> HttpResponse:
    """Pause, resume or cancel a study. The field `do` names the action."""
    actions = {"pause": operations.pause, "resume": operations.resume, "cancel": operations.cancel}
    action = actions.get(request.POST.get("do", ""))
    try:
        if action is None:
            raise operations.Unfit("Choose pause, resume or cancel.")
        action(study.pk, by)
    except NotYours:
        raise
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
    return redirect(study)


@_button
def visibility(request: HttpRequest, study: Study, by: User) -> HttpResponse:
    """Choose who may see a study. Only its owner can."""
    if study.owner_id != by.pk:
        raise NotYours("Only the owner of a study can change who may see it.")
    save_choice(request, lambda chosen: operations.set_visibility(study, chosen))
    return redirect(study)


@_button
def delete(request: HttpRequest, study: Study, by: User) -> HttpResponse:
    """Delete a study that has ended. Only its owner can."""
    try:
        operations.delete(study.pk, by)
    except NotYours:
        raise
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
        return redirect(study)
    messages.success(request, f"{study.title} is deleted with its results.")
    return redirect("studies:list")


def _find(request: HttpRequest, study_id: str) -> Study:
    study = Study.objects.visible_to(request.user).select_related("owner").filter(pk=study_id).first()
    if study is None:
        raise Http404(f"There is no study {study_id}.")
    return study
