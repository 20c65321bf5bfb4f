"""What the page of a training shows."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import QuerySet

from apps.catalog.entries import entry_of
from apps.episodes.templatetags.episodes import bare
from apps.jobs.models import Checkpoint, Job, Point, Sample
from apps.jobs.pages import LOG_LINES, TimeSplit, elapsed
from apps.trainings.best import benchmark_of, best_of
from apps.trainings.trees import EpisodeRow, SeedGroup, tree
from gem.benchmarks import baseline
from gem.credit import ALGORITHMS
from gem.training import recipes
from gem.training.recipes import Recipe
from gem.training.spec import TrainingSpec, read_spec

MOST_POINTS = 2000
"""Of a curve in one answer; of a longer training every second, third ... point is drawn."""
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
)
AXES = ("update", "turns", "seconds")
COLOURS = {"generation": 6, "environment": 3, "learner": 4}


def training(job: Job) -> dict[str, Any]:
    """Everything that changes on a training's page."""
    last = job.points.order_by("update").last()
    return {
        "job": job,
        "shard": job.shards.get(),
        "last": last.data if last else None,
        "update": last.update if last else job.parent_update,
        "elapsed": elapsed(job),
        "left": seconds_left(job, last),
        "failed_batch": _failed_batch(job, last),
        "random": baseline(job.spec["env_id"], "random"),
        "splits": splits(last),
        "checkpoints": list(job.checkpoints.select_related("agent")),
        "best": best_of(job),
        "benchmark": benchmark_of(job.spec["env_id"]),
        "evaluations": list(Job.objects.evaluations().filter(parent=job).select_related("agent").order_by("created")),
    }


def set_up(job: Job) -> dict[str, Any]:
    """What a training's page says of the request."""
    spec = read_spec(job.spec)
    plain = spec.model_dump(mode="json", exclude_defaults=True)
    return {
        "spec": spec,
        "facts": facts(spec),
        "algorithm_page": f"algorithms/{spec.algorithm}",
        "recipe": recipe(spec.recipe),
        "entry": entry_of(spec.env_id),
        "spec_json": json.dumps(plain, indent=2),
        "log": job.events.order_by("-seq")[:LOG_LINES],
        "random_success": _random(spec),
    }


def facts(spec: TrainingSpec) -> list[tuple[str, str]]:
    """The request in words."""
    falling = "" if spec.schedule == "constant" else f", {spec.schedule}"
    told = [
        ("Policy", f"{spec.model}" + (f", adapters of rank {spec.lora_rank}" if spec.lora_rank else "")),
        ("Reads", "the whole episode" if spec.input_mode == "transcript" else "the board of the turn"),
        ("Credit", f"{ALGORITHMS[spec.algorithm].title}, \u03b3 {spec.discount:g}"),
        ("Batch", f"{spec.episodes:,} episodes, {spec.epochs} epoch{'' if spec.epochs == 1 else 's'}"),
        ("Learning rate", f"{spec.learning_rate:g}{falling}"),
    ]
    if spec.entropy_bonus:
        falling = "" if spec.entropy_schedule == "constant" else f", {spec.entropy_schedule}"
        told.append(("Entropy bonus", f"{spec.entropy_bonus:g}{falling}"))
    if spec.kl_coefficient:
        told.append(("KL penalty", f"{spec.kl_coefficient:g}"))
    if spec.held_out_every:
        told.append(("Held-out seeds", f"{spec.held_out_episodes:,}, every {spec.held_out_every:,} updates"))
    return [*told, ("Seed", str(spec.seed))]


def recipe(name: str) -> Recipe | None:
    """The recipe of this name, if there is one."""
    return next((each for each in recipes.all_recipes() if each.name == name), None)


def seconds_left(job: Job, last: Point | None) -> float | None:
    """About how long it takes from here, as long as the updates so far; None if nothing is known."""
    if job.over or last is None:
        return None
    made = last.update - job.parent_update
    each = last.data["seconds"] / max(made, 1)
    return float(each * (job.spec["updates"] - last.update))


def splits(last: Point | None) -> list[TimeSplit]:
    """Where the time of the last update went."""
    if last is None:
        return []
    parts = [(name, last.data.get(f"seconds_{name}", 0.0), colour) for name, colour in COLOURS.items()]
    total = sum(seconds for _, seconds, _ in parts) or 1.0
    found, x = [], 0.0
    for name, seconds, colour in parts:
        found.append(TimeSplit(name, seconds, x, 100 * seconds / total, colour))
        x += 100 * seconds / total
    return found


def curves(job: Job, after: int = 0) -> dict[str, Any]:
    """The points after an update, in columns."""
    points = list(job.points.filter(update__gt=after).order_by("update"))
    step = len(points) // MOST_POINTS + 1
    kept = [point for place, point in enumerate(points) if place % step == 0 or place == len(points) - 1]
    columns = {name: [point.data.get(name) for point in kept] for name in (*AXES, *CURVES)}
    return {"last": points[-1].update if points else after, "over": job.over, **columns}


def samples(job: Job, update: int) -> dict[str, Any]:
    """The episodes kept of the update nearest to this one, in groups that began alike."""
    updates = sorted(set(job.samples.filter(exam=False).values_list("update", flat=True)))
    if not updates:
        return {"update": update, "groups": [], "updates": []}
    nearest = min(updates, key=lambda known: abs(known - update))
    grouped: dict[int, list[EpisodeRow]] = {}
    for sample in _kept(job.samples.filter(update=nearest, exam=False)):
        grouped.setdefault(sample.group, []).append(_row(sample))
    groups = [SeedGroup(rows[0].episode.seed, rows) for rows in grouped.values()]
    place = updates.index(nearest)
    return {
        "update": nearest,
        "groups": groups,
        "alone": [group.rows[0] for group in groups if len(group.rows) == 1],
        "previous": updates[place - 1] if place else None,
        "next": updates[place + 1] if place + 1 < len(updates) else None,
        "checkpoint": Checkpoint.objects.filter(job=job, update__lte=nearest).order_by("-update").first(),
    }


def then_and_now(job: Job, update: int, seed: int) -> dict[str, Any]:
    """One seed as the checkpoints played it; the checkpoint nearest to `update` is the one looked at."""
    exams = [_row(sample) for sample in _kept(job.samples.filter(exam=True, episode__seed=seed))]
    seeds = sorted(set(job.samples.filter(exam=True).values_list("episode__seed", flat=True)))
    if not exams:
        return {"exams": [], "seeds": seeds, "seed": seed, "chosen": None, "branches": []}
    chosen = min(exams, key=lambda row: abs(row.update - update))
    return {
        "exams": _few(exams, chosen, SHOWN),
        "seeds": seeds,
        "seed": seed,
        "chosen": chosen,
        "branches": tree(_few(exams, chosen, SHOWN_IN_TREE)) if len(exams) > 1 else [],
    }


SHOWN = 5
SHOWN_IN_TREE = 24


def _few(exams: list[EpisodeRow], chosen: EpisodeRow, most: int) -> list[EpisodeRow]:
    """The first, the last, the chosen one and some between."""
    if len(exams) <= most:
        return exams
    places = {round(i * (len(exams) - 1) / (most - 1)) for i in range(most)} | {exams.index(chosen)}
    return [exams[place] for place in sorted(places)]


def _kept(samples: QuerySet[Sample]) -> QuerySet[Sample]:
    return samples.select_related("episode").prefetch_related("episode__seats", "episode__turns").order_by("update")


def _row(sample: Sample) -> EpisodeRow:
    actions = tuple(bare(turn.action) for turn in sample.episode.turns.all())
    return EpisodeRow(sample.episode, sample.update, actions)


def _failed_batch(job: Job, last: Point | None) -> int | None:
    """The update that failed, if its batch was kept."""
    if job.state != Job.State.FAILED:
        return None
    kept = job.samples.filter(exam=False, update__gt=last.update if last else job.parent_update)
    return kept.values_list("update", flat=True).first()


def _random(spec: TrainingSpec) -> float | None:
    known = baseline(spec.env_id, "random")
    return known.success_rate if known else None
