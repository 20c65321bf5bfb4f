"""Pages of trainings: the form, one training with its curves, and several beside each other."""

from __future__ import annotations

import importlib.util
import json
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import User
from apps.agents.checkpoint_views import archive_of
from apps.agents.models import Agent
from apps.catalog.entries import all_entries
from apps.htmx import wants_part
from apps.jobs.errors import JobRefusal, NotYours
from apps.jobs.models import Checkpoint, Job
from apps.trainings import compare as comparing
from apps.trainings import logs, operations, pages, permissions
from apps.trainings.forms import FINE, OWN, PLAIN, TrainingForm, initial
from gem.credit import ALGORITHMS
from gem.training import recipes
from gem.training.recipes import Recipe
from gem.training.spec import TrainingSpec, with_current_names

FIRST_RECIPE = "guess-easy"
MOST_COMPARED = 40


# ------------------------------------------------------------------ the form


@never_cache
@require_http_methods(["GET", "POST"])
def train(request: HttpRequest) -> HttpResponse:
    """The form for a training: recipes that were tried, and everything else in expert mode.

    Whoever has no account logs in on the way and finds the form as it was.
    """
    if request.method == "GET":
        parent, base = _parent(request), _base(request)
        found = pages.recipe(request.GET.get("recipe", FIRST_RECIPE))
        data = found.training_spec.model_dump(mode="json") if found else {}
        data = with_current_names(parent.job.spec) if parent else _further(base) if base else data
        values = initial(data) if data else {}
        if parent is not None:
            values |= {"parent": parent.job_id, "parent_update": parent.update}
        values |= {name: request.GET[name] for name in (*PLAIN, *FINE, *OWN) if name in request.GET}
        values["idempotency_key"] = uuid.uuid4().hex
        form = TrainingForm(request.user, initial=values)
        return render(request, "trainings/train.html", _form_page(request, form, parent))
    if not isinstance(request.user, User):
        messages.info(request, "Log in to train. Your entries are kept.")
        kept = {name: request.POST[name] for name in ("recipe", *PLAIN, *FINE, *OWN) if request.POST.get(name)}
        back = f"{resolve_url('trainings:train')}?{urlencode(kept)}"
        return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': back})}")
    form = TrainingForm(request.user, request.POST)
    parent = _parent(request)
    if form.is_valid() and form.spec is not None:
        try:
            return redirect(_submit_all(request.user, form, form.spec, parent))
        except JobRefusal as refusal:
            form.add_error(None, str(refusal))
    return render(request, "trainings/train.html", _form_page(request, form, parent), status=422)


def _submit_all(owner: User, form: TrainingForm, spec: TrainingSpec, parent: Checkpoint | None) -> str:
    """One training, or one for each seed and algorithm; the address of what shows them."""
    seeds = int(form.cleaned_data["seeds"] or 1)
    algorithms = ALGORITHMS if form.cleaned_data["all_algorithms"] else (spec.algorithm,)
    key = form.cleaned_data["idempotency_key"] or uuid.uuid4().hex
    specs = [
        operations.with_changes(spec, {"algorithm": algorithm, "seed": spec.seed + seed})
        for algorithm in algorithms
        for seed in range(seeds)
    ]
    name = form.cleaned_data["name"] or spec.recipe
    operations.check_room(owner, len(specs))
    jobs = [
        operations.submit(
            owner,
            each,
            name=_name_beside_others(name, each, algorithms=len(algorithms), seeds=seeds),
            idempotency_key=key if len(specs) == 1 else f"{key}-{place}",
            parent=parent,
            evaluate_best=form.cleaned_data["evaluate_best"],
        )
        for place, each in enumerate(specs)
    ]
    if len(jobs) == 1:
        return jobs[0].get_absolute_url()
    return f"{reverse('trainings:compare')}?{urlencode([('job', job.pk) for job in jobs])}"


def _name_beside_others(name: str, spec: TrainingSpec, *, algorithms: int, seeds: int) -> str:
    """The name of one of several trainings, with what it differs in: `guess-easy, GRPO, seed 2`."""
    told = [name] if name else [operations.name_of(spec)] if seeds > 1 else []
    if name and algorithms > 1:
        told.append(ALGORITHMS[spec.algorithm].title)
    if seeds > 1:
        told.append(f"seed {spec.seed}")
    return ", ".join(told)


def _form_page(request: HttpRequest, form: TrainingForm, parent: Checkpoint | None) -> dict[str, Any]:
    chosen = form["recipe"].value() or ""
    all_recipes = recipes.all_recipes()
    return {
        "form": form,
        "recipes": [each for each in all_recipes if _runs_here(each)],
        "larger": [each for each in all_recipes if not _runs_here(each)],
        "recipe": pages.recipe(chosen),
        "plain": [form[name] for name in PLAIN],
        "fine": [form[name] for name in FINE],
        "fine_errors": any(form[name].errors for name in (*FINE, "more")),
        "entries": [entry for entry in all_entries() if entry.spec.seats == 1],
        "parent": parent,
        "base": _base(request),
        "installing": installing(),
    }


def _runs_here(recipe: Recipe) -> bool:
    return recipe.status.startswith("reproduced")


def installing() -> str:
    """Why nothing can be trained now, in a sentence; empty if it can."""
    importlib.invalidate_caches()
    if importlib.util.find_spec("torch") is not None:
        return ""
    try:
        told = json.loads((Path(settings.STATE_DIR) / "training.json").read_text("utf-8"))
    except (OSError, ValueError):
        told = {}
    if told.get("state") == "failed":
        return f"PyTorch could not be installed: {told.get('reason', '')} Trainings wait until it is installed."
    return "PyTorch is being installed in the background. You can submit now: the training starts when it is installed."


def _parent(request: HttpRequest) -> Checkpoint | None:
    """The checkpoint to go on from, if one is named."""
    asked = request.POST if request.method == "POST" else request.GET
    update = asked.get("parent_update", "")
    if not asked.get("parent") or not (update.isascii() and update.isdecimal()):
        return None
    found = Checkpoint.objects.filter(job=asked["parent"], update=int(update[:9])).select_related("job").first()
    if found is None:
        raise Http404("There is no such checkpoint to continue from.")
    return found


def _base(request: HttpRequest) -> Agent | None:
    """The trained policy to begin with, if one is named."""
    asked = request.POST if request.method == "POST" else request.GET
    if not (slug := asked.get("agent", "")):
        return None
    found = Agent.objects.selectable_by(request.user).filter(slug=slug, weights__isnull=False).first()
    if found is None:
        raise Http404("There is no such checkpoint to start from, or it is private.")
    return found


def _further(agent: Agent) -> dict[str, Any]:
    """A first specification for training a policy further, on what it was trained on if that is here."""
    card = agent.weights.card
    known = card.get("env_id") in {entry.id for entry in all_entries() if entry.spec.seats == 1}
    how = {name: card[name] for name in ("input_mode", "max_tokens", "max_length") if name in card}
    env_id = card["env_id"] if known else recipes.data(FIRST_RECIPE)["env_id"]
    return {"env_id": env_id, "model": f"{permissions.AGENT}{agent.slug}", **how}


# ------------------------------------------------------------------ one training


def training(request: HttpRequest, job: Job) -> HttpResponse:
    """A training as it is now; what happens next comes through the socket."""
    update = _number(request.GET.get("update", ""))
    shown = pages.training(job)
    looked_at = shown["update"] if update is None else update
    context = {
        **shown,
        **pages.set_up(job),
        "looked_at": looked_at,
        "chosen": update is not None,
        "kept": pages.samples(job, looked_at),
        "then": pages.then_and_now(job, looked_at, _number(request.GET.get("seed", "")) or 0),
        "seeds": comparing.same_but_for_the_seed(job),
        "axes": {"update": "Update", "turns": "Turns", "seconds": "Time"},
        "may_change": job.may_be_changed_by(request.user),
        "log_text": logs.tail_of(job.pk) if job.may_be_changed_by(request.user) else "",
        "waits_for_best": _waits_for_best(job, shown),
    }
    return render(request, "trainings/training.html", context)


def _waits_for_best(job: Job, shown: dict[str, Any]) -> bool:
    """Whether nobody has to ask for an evaluation: it will come, it is there, or there is nothing to evaluate."""
    if not job.over:
        return job.evaluate_best
    best = shown["best"]
    return best is None or best.checkpoint.update in {each.parent_update for each in shown["evaluations"]}


@never_cache
@require_GET
def curves(request: HttpRequest, job_id: str) -> HttpResponse:
    """The points of the curves after an update, in columns."""
    return JsonResponse(pages.curves(_training(job_id), _number(request.GET.get("after", "")) or 0))


@never_cache
@require_GET
def update(request: HttpRequest, job_id: str, number: int) -> HttpResponse:
    """What there is to see of an update: kept episodes in groups, and one seed then and now, as a fragment."""
    job = _training(job_id)
    seed = _number(request.GET.get("seed", "")) or 0
    context = {
        "job": job,
        "kept": pages.samples(job, number),
        "then": pages.then_and_now(job, number, seed),
        "looked_at": number,
    }
    return render(request, "trainings/update.html", context)


@require_GET
def checkpoint(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """A checkpoint to download: weights, configuration, tokenizer and card in one archive."""
    found = Checkpoint.objects.filter(job=job_id, update=number).select_related("agent__weights").first()
    if found is None:
        raise Http404("There is no such checkpoint.")
    return archive_of(found.agent)


@require_POST
def change(request: HttpRequest, job_id: str) -> HttpResponse:
    """Pause, resume or extend a training, or have its best checkpoint evaluated: the button pressed says which."""
    job = _training(job_id)
    if not isinstance(request.user, User):
        return redirect(f"{resolve_url('accounts:login')}?{urlencode({'next': job.get_absolute_url()})}")
    wish = request.POST.get("do", "")
    try:
        if wish == "pause":
            operations.pause(job_id, request.user)
        elif wish == "resume":
            operations.resume(job_id, request.user)
        elif wish == "extend":
            operations.extend(job_id, request.user, _number(request.POST.get("updates", "")) or 0)
        elif wish == "evaluate":
            operations.evaluate_best(job_id, request.user)
        else:
            raise operations.Unfit("Choose pause, resume, extend or evaluate.")
    except NotYours as refusal:
        raise PermissionDenied(str(refusal)) from refusal
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
    return redirect(job)


# ------------------------------------------------------------------ several


@never_cache
@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """Trainings beside each other, those that differ in their seed only as one curve with a band.

    While one of them runs the page asks again and again for what is said of them, and then for their new points.
    """
    asked = request.GET.getlist("job")[:MOST_COMPARED]
    jobs = list(Job.objects.trainings().filter(pk__in=asked).select_related("agent", "owner"))
    found = comparing.arms(jobs) if jobs else []
    context = {
        "arms": found,
        "verdict": comparing.verdict(found),
        "jobs": jobs,
        "running": any(not job.over for job in jobs),
        "query": urlencode([("job", job.pk) for job in jobs]),
    }
    if wants_part(request):
        return render(request, "trainings/compare.html#news", context)
    context["chart"] = comparing.curves(found, "success")
    context["others"] = Job.objects.trainings().exclude(pk__in=asked).select_related("agent")[:20]
    return render(request, "trainings/compare.html", context)


def _training(job_id: str) -> Job:
    found = Job.objects.trainings().for_page().filter(pk=job_id).first()
    if found is None:
        raise Http404(f"There is no training {job_id}.")
    return found


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
