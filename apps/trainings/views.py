"""Pages of trainings: the form, one training with its curves, and comparisons."""

from __future__ import annotations

import importlib.util
import json
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render, resolve_url
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from apps.accounts.models import User
from apps.agents.checkpoint_views import archive_of
from apps.agents.models import Agent
from apps.catalog.entries import all_entries
from apps.catalog.learned import learned
from apps.curves.models import OutsideTraining
from apps.htmx import wants_part
from apps.jobs.errors import JobRefusal, NotYours
from apps.jobs.models import Checkpoint, Job
from apps.jobs.views import button, parent_of
from apps.trainings import logs, operations, pages, permissions
from apps.trainings.checkpoints import checkpoint_to_fork
from apps.trainings.forms import FINE, OWN, PLAIN, TrainingForm, initial
from apps.trainings.pages import compare as comparing
from apps.trainings.pages.members import METRICS
from gem.credit import ALGORITHMS
from gem.training import recipes
from gem.training.recipes import Recipe
from gem.training.spec import TrainingSpec, with_current_names

FIRST_RECIPE = "guess-easy"
MAX_COMPARED = 40
MOST_OTHERS = 20


# ------------------------------------------------------------------ the form


@require_safe
def learned_here(request: HttpRequest) -> HttpResponse:
    """The part of the page of an environment about the recipes that learn it; empty if none does."""
    found = learned(request.GET.get("env_id", "")) if request.GET.get("env_id") else []
    return render(request, "trainings/learned_here.html", {"learned": found}) if found else HttpResponse()


@require_safe
def credit(request: HttpRequest) -> HttpResponse:
    """How good the credit of each algorithm was during trainings, compared with exact values."""
    return render(request, "trainings/credit.html", {"plots": pages.credit_plots()})


@never_cache
@require_http_methods(["GET", "POST"])
def train(request: HttpRequest) -> HttpResponse:
    """The form for a training: tested recipes, and all other settings in expert mode.

    A visitor without an account logs in on the way, and the entries are kept.
    """
    if request.method == "GET":
        parent, base = _parent(request), _base(request)
        recipe = pages.recipe(request.GET.get("recipe", FIRST_RECIPE))
        data = recipe.training_spec.model_dump(mode="json") if recipe else {}
        data = with_current_names(parent.job.spec) if parent else _continuation(base) if base else data
        values = initial(data) if data else {}
        if parent is not None:
            values |= {"parent": parent.job_id, "parent_update": parent.update}
            values["updates"] = _updates_of_fork(parent)
        values |= {name: request.GET[name] for name in (*PLAIN, *FINE, *OWN) if name in request.GET}
        values["idempotency_key"] = uuid.uuid4().hex
        form = TrainingForm(request.user, initial=values)
        return render(request, "trainings/train.html", _form_page(request, form, parent))
    if not isinstance(request.user, User):
        messages.info(request, "Log in to train. Your entries are kept.")
        entries = {name: request.POST[name] for name in ("recipe", *PLAIN, *FINE, *OWN) if request.POST.get(name)}
        back = f"{resolve_url('trainings:train')}?{urlencode(entries)}"
        return redirect_to_login(back)
    form = TrainingForm(request.user, request.POST)
    parent = _parent(request)
    if form.is_valid() and form.spec is not None:
        try:
            return redirect(_submit_all(request.user, form, form.spec, parent))
        except JobRefusal as refusal:
            form.add_error(None, str(refusal))
    return render(request, "trainings/train.html", _form_page(request, form, parent), status=422)


def _submit_all(owner: User, form: TrainingForm, spec: TrainingSpec, parent: Checkpoint | None) -> str:
    """Submit one training, or one for each seed and algorithm. Returns the address of the page that shows them."""
    seeds = int(form.cleaned_data["seeds"] or 1)
    algorithms = ALGORITHMS if form.cleaned_data["all_algorithms"] else (spec.algorithm,)
    specs = [
        operations.with_changes(spec, {"algorithm": algorithm, "seed": spec.seed + seed})
        for algorithm in algorithms
        for seed in range(seeds)
    ]
    name = form.cleaned_data["name"] or spec.recipe
    jobs = operations.submit_all(
        owner,
        [(each, _distinct_name(name, each, algorithms=len(algorithms), seeds=seeds)) for each in specs],
        idempotency_key=form.cleaned_data["idempotency_key"] or uuid.uuid4().hex,
        parent=parent,
        evaluate_best=form.cleaned_data["evaluate_best"],
        visibility=form.cleaned_data["visibility"],
    )
    if len(jobs) == 1:
        return jobs[0].get_absolute_url()
    return f"{reverse('trainings:compare')}?{urlencode([('job', job.pk) for job in jobs])}"


def _distinct_name(name: str, spec: TrainingSpec, *, algorithms: int, seeds: int) -> str:
    """The name of one of several trainings, with its algorithm and seed: `guess-easy, GRPO, seed 2`."""
    parts = [name] if name else [operations.name_of(spec)] if seeds > 1 else []
    if name and algorithms > 1:
        parts.append(ALGORITHMS[spec.algorithm].title)
    if seeds > 1:
        parts.append(f"seed {spec.seed}")
    return ", ".join(parts)


def _form_page(request: HttpRequest, form: TrainingForm, parent: Checkpoint | None) -> dict[str, Any]:
    recipe_name = form["recipe"].value() or ""
    all_recipes = recipes.all_recipes()
    return {
        "form": form,
        "recipes": [recipe for recipe in all_recipes if _runs_here(recipe)],
        "larger": [recipe for recipe in all_recipes if not _runs_here(recipe)],
        "recipe": pages.recipe(recipe_name),
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
    """A sentence about why no training can start now; empty if PyTorch is installed."""
    if importlib.util.find_spec("torch") is not None:
        return ""
    try:
        status = json.loads((Path(settings.STATE_DIR) / "training.json").read_text("utf-8"))
    except (OSError, ValueError):
        status = {}
    if status.get("state") == "failed":
        return f"PyTorch could not be installed: {status.get('reason', '')} Trainings wait until it is installed."
    return "PyTorch is being installed in the background. You can submit now: the training starts when it is installed."


def _parent(request: HttpRequest) -> Checkpoint | None:
    """The checkpoint to fork, if the request names one."""
    values = request.POST if request.method == "POST" else request.GET
    update = values.get("parent_update", "")
    if not values.get("parent") or not (update.isascii() and update.isdecimal()):
        return None
    return checkpoint_to_fork(request.user, values["parent"], int(update[:9]))


def _updates_of_fork(parent: Checkpoint) -> int:
    """The updates in all that a fork begins with: those of its parent, or as many again if none of them is left."""
    updates = int(parent.job.spec["updates"])
    return updates if updates > parent.update else parent.update + updates - parent.job.parent_update


def _base(request: HttpRequest) -> Agent | None:
    """The trained policy to start from, if the request names one."""
    values = request.POST if request.method == "POST" else request.GET
    if not (slug := values.get("agent", "")):
        return None
    agent = Agent.objects.selectable_by(request.user).filter(slug=slug, weights__isnull=False).first()
    if agent is None:
        raise Http404("There is no such checkpoint to start from, or it is private.")
    return agent


def _continuation(agent: Agent) -> dict[str, Any]:
    """Initial settings for training a policy further, on its own environment if this site has it."""
    card = agent.weights.card
    is_known = card.get("env_id") in {entry.id for entry in all_entries() if entry.spec.seats == 1}
    play_settings = {name: card[name] for name in ("input_mode", "max_tokens", "max_length") if name in card}
    env_id = card["env_id"] if is_known else recipes.data(FIRST_RECIPE)["env_id"]
    return {"env_id": env_id, "model": f"{permissions.AGENT}{agent.slug}", **play_settings}


# ------------------------------------------------------------------ one training


def training(request: HttpRequest, job: Job) -> HttpResponse:
    """The page of a training. Later changes come through the socket."""
    update = _number(request.GET.get("update", ""))
    contents = pages.training(job, request.user)
    looked_at = contents["update"] if update is None else update
    context = {
        **contents,
        **pages.set_up(job),
        "parent": parent_of(job, request.user),
        "is_mine": job.owner is not None and job.owner == request.user,
        "looked_at": looked_at,
        "chosen": update is not None,
        "kept": pages.samples(job, looked_at, request.user),
        "then": pages.then_and_now(job, looked_at, _number(request.GET.get("seed", "")) or 0, request.user),
        "seeds": comparing.trainings_with_same_settings(job, Job.objects.listed_for(request.user)),
        "axes": {"update": "Update", "turns": "Turns", "seconds": "Time"},
        "may_change": job.may_be_changed_by(request.user),
        "log_text": logs.tail_of(job.pk) if job.may_be_changed_by(request.user) else "",
    }
    return render(request, "trainings/training.html", context)


@never_cache
@require_GET
def curves(request: HttpRequest, job_id: str) -> HttpResponse:
    """The points of the curves after an update, as columns."""
    return JsonResponse(pages.curves(_training(request, job_id), _number(request.GET.get("after", "")) or 0))


@never_cache
@require_GET
def update(request: HttpRequest, job_id: str, number: int) -> HttpResponse:
    """A fragment about one update: its samples by seed, and one seed before and after training."""
    job = _training(request, job_id)
    seed = _number(request.GET.get("seed", "")) or 0
    context = {
        "job": job,
        "kept": pages.samples(job, number, request.user),
        "then": pages.then_and_now(job, number, seed, request.user),
        "looked_at": number,
    }
    return render(request, "trainings/update.html", context)


@require_GET
def checkpoint(request: HttpRequest, job_id: str, number: int) -> HttpResponseBase:
    """Download a checkpoint: weights, configuration, tokenizer and card in one archive."""
    checkpoints = pages.shown_checkpoints(_training(request, job_id), request.user)
    found = checkpoints.filter(update=number).select_related("agent__weights").first()
    if found is None:
        raise Http404("There is no such checkpoint.")
    return archive_of(request, found.agent)


@button
def change(request: HttpRequest, job: Job, by: User) -> HttpResponse:
    """Pause, resume or extend a training, or evaluate its best checkpoint. The field `do` names the action."""
    if job.kind != Job.Kind.TRAINING:
        raise Http404(f"There is no training {job.pk}.")
    action = request.POST.get("do", "")
    try:
        if action == "pause":
            operations.pause(job.pk, by)
        elif action == "resume":
            operations.resume(job.pk, by)
        elif action == "extend":
            operations.extend(job.pk, by, _number(request.POST.get("updates", "")) or 0)
        elif action == "evaluate":
            operations.evaluate_best(job.pk, by)
        else:
            raise operations.Unfit("Choose pause, resume, extend or evaluate.")
    except NotYours:
        raise
    except JobRefusal as refusal:
        messages.error(request, str(refusal))
    return redirect(job)


# ------------------------------------------------------------------ several


@never_cache
@require_GET
def compare(request: HttpRequest) -> HttpResponse:
    """Compare trainings. Those that differ only in their seed are one curve with a band.

    While one of them runs, the page polls the conclusion and the table, and then the new points.
    """
    job_ids, outside_ids = (request.GET.getlist(name)[:MAX_COMPARED] for name in ("job", "outside"))
    metric = request.GET.get("metric", "success")
    metric = metric if metric in METRICS else "success"
    jobs = list(
        Job.objects.trainings()
        .visible_to(request.user)
        .filter(pk__in=job_ids)
        .select_related("agent", "owner", "parent")
    )
    outside = list(OutsideTraining.objects.visible_to(request.user).filter(pk__in=outside_ids))
    arms = comparing.arms(jobs, outside, metric) if jobs or outside else []
    chosen = [("job", job.pk) for job in jobs] + [("outside", training.pk) for training in outside]
    context = {
        "arms": arms,
        "verdict": comparing.verdict(arms, metric) if arms else "",
        "jobs": jobs,
        "outside": outside,
        "count": len(chosen),
        "metric": metric,
        "metrics": METRICS,
        "shown": METRICS[metric],
        "scale": comparing.scale(arms, metric),
        "running": any(not member.is_done for arm in arms for member in arm.members),
        "query": urlencode([*chosen, ("metric", metric)]),
    }
    if wants_part(request):
        return render(request, "trainings/compare.html#news", context)
    context["chart"] = comparing.curves(arms, metric)
    others = Job.objects.trainings().listed_for(request.user).exclude(pk__in=job_ids)
    context["others"] = others.select_related("agent")[:MOST_OTHERS]
    elsewhere = OutsideTraining.objects.listed_for(request.user).exclude(pk__in=outside_ids)
    context["elsewhere"] = elsewhere[:MOST_OTHERS]
    return render(request, "trainings/compare.html", context)


def _training(request: HttpRequest, job_id: str) -> Job:
    job = Job.objects.trainings().visible_to(request.user).for_page().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no training {job_id}.")
    return job


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
