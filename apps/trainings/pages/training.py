"""The contents of the page of a training, without its samples."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.catalog.entries import entry_of
from apps.jobs.estimates import start_of
from apps.jobs.models import Checkpoint, Job, Point
from apps.jobs.pages import LOG_LINES, TimeSplit, elapsed
from apps.trainings.alarms import alarms_of, marks
from apps.trainings.best import Choice, benchmark_of, choose
from apps.trainings.records import before_fork
from apps.visibility import as_open_as
from gem.benchmarks import baseline
from gem.credit import ALGORITHMS
from gem.registry import unregistered
from gem.training import recipes
from gem.training.recipes import Recipe
from gem.training.spec import TrainingSpec, read_stored

MAX_POINTS = 2000
"""Points of a curve in one response. Of a longer training, only every second, third, ... point is sent."""
CURVES = (
    "success",
    "return",
    "invalid",
    "entropy",
    "turns_per_episode",
    "kl",
    "clip_fraction",
    "gradient_norm",
    "turns_per_second",
    "learning_rate",
    "held_out_success",
    "exploitability",
    "rating",
    "level",
)
AXES = ("update", "turns", "seconds")
COLOURS = {"generation": 6, "environment": 3, "learner": 4}


def training(job: Job, viewer: Viewer | None = None) -> dict[str, Any]:
    """The part of a training's page that changes, for one person or, in live events, for everybody who may see it."""
    last = job.points.order_by("update").last()
    checkpoints = list(shown_checkpoints(job, viewer).select_related("agent"))
    choice, alarms, evaluations = choose(job), alarms_of(job), _evaluations(job)
    best = choice.best
    return {
        "job": job,
        "alarms": alarms,
        "alarm_marks": marks(alarms),
        "alarms_hold": any(alarm.holds for alarm in alarms),
        "shard": job.shards.get(),
        "last": last.data if last else None,
        "update": last.update if last else job.parent_update,
        "elapsed": elapsed(job),
        "start": start_of(job),
        "left": seconds_left(job, last),
        "failed_batch": _failed_batch(job, last),
        "random": baseline(job.spec["env_id"], "random"),
        "splits": splits(last),
        "checkpoints": checkpoints,
        "best": best if best is not None and best.checkpoint in checkpoints else None,
        "why_no_best": choice.reason,
        "may_evaluate_best": _may_evaluate_best(job, choice, evaluations),
        "benchmark": benchmark_of(job.spec["env_id"]),
        "evaluations": evaluations,
    }


def shown_checkpoints(job: Job, viewer: Viewer | None) -> QuerySet[Checkpoint]:
    """The checkpoints of a training that this person may open; without one, those that everybody may who may see it."""
    agents = Agent.objects.filter(checkpoint__job=job)
    if viewer is not None:
        return job.checkpoints.filter(agent__in=agents.visible_to(viewer))
    return job.checkpoints.filter(agent__in=agents.filter(hidden_reason="", visibility__in=as_open_as(job.visibility)))


def _may_evaluate_best(job: Job, choice: Choice, evaluations: list[Job]) -> bool:
    """Whether its owner can ask for the evaluation of the best checkpoint, now or at the end of the training."""
    if not job.over:
        return not job.evaluate_best
    return choice.best is not None and choice.best.checkpoint.update not in {each.parent_update for each in evaluations}


def _evaluations(job: Job) -> list[Job]:
    """The evaluations of its checkpoints that everybody who may see it may see, since live events go to all of them."""
    evaluations = Job.objects.evaluations().filter(
        Job.objects.is_shown(), parent=job, batch__visibility__in=as_open_as(job.visibility)
    )
    return list(evaluations.select_related("agent").order_by("created"))


def set_up(job: Job) -> dict[str, Any]:
    """The part of a training's page about its request."""
    spec = read_stored(job.spec)
    changed_settings = spec.model_dump(mode="json", exclude_defaults=True)
    return {
        "spec": spec,
        "facts": facts(spec),
        "algorithm_page": f"algorithms/{spec.algorithm}",
        "recipe": recipe(spec.recipe),
        "entry": None if unregistered([spec.env_id]) else entry_of(spec.env_id),
        "spec_json": json.dumps(changed_settings, indent=2),
        "log": job.events.for_log().filter(seq__lte=job.seq).order_by("-seq")[:LOG_LINES],
        "random_success": _random_success(spec),
    }


def facts(spec: TrainingSpec) -> list[tuple[str, str]]:
    """The main settings of the request, as names and values for people."""
    schedule = "" if spec.schedule == "constant" else f", {spec.schedule}"
    rows = [
        ("Policy", f"{spec.model}" + (f", adapters of rank {spec.lora_rank}" if spec.lora_rank else "")),
        ("Reads", "the whole episode" if spec.input_mode == "transcript" else "the board of the turn"),
        *_opponents(spec),
        ("Credit", f"{ALGORITHMS[spec.algorithm].title}, \u03b3 {spec.discount:g}"),
        ("Batch", f"{spec.episodes:,} episodes, {spec.epochs} epoch{'' if spec.epochs == 1 else 's'}"),
        ("Learning rate", f"{spec.learning_rate:g}{schedule}"),
    ]
    if spec.optimizer == "muon":
        rows.append(("Optimizer", "Muon"))
    if spec.entropy_bonus:
        schedule = "" if spec.entropy_schedule == "constant" else f", {spec.entropy_schedule}"
        rows.append(("Entropy bonus", f"{spec.entropy_bonus:g}{schedule}"))
    if spec.kl_coefficient:
        rows.append(("KL penalty", f"{spec.kl_coefficient:g}"))
    if spec.held_out_every:
        rows.append(("Held-out seeds", f"{spec.held_out_episodes:,}, every {spec.held_out_every:,} updates"))
    if spec.held_out_kwargs:
        changed = ", ".join(f"{name} {value}" for name, value in spec.held_out_kwargs.items())
        rows.append(("Measured with", changed))
    return [*rows, ("Seed", str(spec.seed))]


def _opponents(spec: TrainingSpec) -> list[tuple[str, str]]:
    """Whom a policy that plays both seats meets."""
    if not spec.self_play:
        return []
    if not spec.pool_share:
        return [("Opponents", "itself")]
    earlier = f"{spec.pool_size} earlier polic{'y' if spec.pool_size == 1 else 'ies'}" if spec.pool_size else ""
    pool = ", ".join(filter(None, [*spec.pool_agents, earlier]))
    return [("Opponents", f"itself; in {spec.pool_share:.0%} of the episodes {pool}".replace("%", " %"))]


def recipe(name: str) -> Recipe | None:
    """The recipe with this name; None if there is none."""
    return next((entry for entry in recipes.all_recipes() if entry.name == name), None)


def seconds_left(job: Job, last: Point | None) -> float | None:
    """Estimated seconds until the training is done, at its pace so far; None before the first update."""
    if job.over or last is None:
        return None
    updates = last.update - job.parent_update
    seconds_per_update = max(0.0, last.data["seconds"] - before_fork(job)["seconds"]) / max(updates, 1)
    return float(seconds_per_update * (job.spec["updates"] - last.update))


def seconds_left_of(job: Job) -> float | None:
    """The same, with the last update read."""
    return seconds_left(job, job.points.order_by("update").last())


def splits(last: Point | None) -> list[TimeSplit]:
    """The time of the last update by use."""
    if last is None:
        return []
    parts = [(name, last.data.get(f"seconds_{name}", 0.0), colour) for name, colour in COLOURS.items()]
    total = sum(seconds for _, seconds, _ in parts) or 1.0
    time_splits, x = [], 0.0
    for name, seconds, colour in parts:
        time_splits.append(TimeSplit(name, seconds, x, 100 * seconds / total, colour))
        x += 100 * seconds / total
    return time_splits


def curves(job: Job, after: int = 0) -> dict[str, Any]:
    """The points after an update, as columns."""
    points = list(job.points.filter(update__gt=after).order_by("update"))
    step = len(points) // MAX_POINTS + 1
    shown_points = [point for index, point in enumerate(points) if index % step == 0 or index == len(points) - 1]
    columns = {name: [point.data.get(name) for point in shown_points] for name in (*AXES, *CURVES)}
    return {"last": points[-1].update if points else after, "over": job.over, **columns}


def _failed_batch(job: Job, last: Point | None) -> int | None:
    """The update that failed, if samples of its batch were stored."""
    if job.state != Job.State.FAILED:
        return None
    samples = job.samples.filter(exam=False, update__gt=last.update if last else job.parent_update)
    return samples.values_list("update", flat=True).first()


def _random_success(spec: TrainingSpec) -> float | None:
    reference = baseline(spec.env_id, "random")
    return reference.success_rate if reference else None
