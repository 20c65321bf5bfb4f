"""The episodes of a training that are kept: those of one update, and the exams of all checkpoints on one seed."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import Viewer
from apps.episodes.models import Episode
from apps.episodes.templatetags.episodes import bare
from apps.jobs.models import Job, Sample
from apps.trainings.pages.training import shown_checkpoints
from apps.trainings.pages.trees import EpisodeRow, SeedGroup, tree

MAX_EXAMS = 5
MAX_EXAMS_IN_TREE = 24


def samples(job: Job, update: int, viewer: Viewer) -> dict[str, Any]:
    """The samples of the update nearest to this one, grouped by seed, that this person may open."""
    updates = sorted(set(job.samples.filter(exam=False).values_list("update", flat=True)))
    if not updates:
        return {"update": update, "groups": [], "updates": []}
    nearest = min(updates, key=lambda number: abs(number - update))
    rows_by_group: dict[int, list[EpisodeRow]] = {}
    for sample in _with_turns(job.samples.filter(update=nearest, exam=False), viewer):
        rows_by_group.setdefault(sample.group, []).append(_row(sample))
    groups = [SeedGroup(rows[0].episode.seed, rows) for rows in rows_by_group.values()]
    index = updates.index(nearest)
    return {
        "update": nearest,
        "groups": groups,
        "alone": [group.rows[0] for group in groups if len(group.rows) == 1],
        "previous": updates[index - 1] if index else None,
        "next": updates[index + 1] if index + 1 < len(updates) else None,
        "checkpoint": shown_checkpoints(job, viewer).filter(update__lte=nearest).order_by("-update").first(),
    }


def then_and_now(job: Job, update: int, seed: int, viewer: Viewer) -> dict[str, Any]:
    """The exams of all checkpoints on one seed. The one nearest to `update` is highlighted."""
    exams = [_row(sample) for sample in _with_turns(job.samples.filter(exam=True, episode__seed=seed), viewer)]
    seeds = sorted(set(job.samples.filter(exam=True).values_list("episode__seed", flat=True)))
    if not exams:
        return {"exams": [], "seeds": seeds, "seed": seed, "chosen": None, "branches": []}
    chosen = min(exams, key=lambda row: abs(row.update - update))
    return {
        "exams": _select_exams(exams, chosen, MAX_EXAMS),
        "seeds": seeds,
        "seed": seed,
        "chosen": chosen,
        "branches": tree(_select_exams(exams, chosen, MAX_EXAMS_IN_TREE)) if len(exams) > 1 else [],
    }


def _select_exams(exams: list[EpisodeRow], chosen: EpisodeRow, max_rows: int) -> list[EpisodeRow]:
    """At most about `max_rows` of the exams: the first, the last, the chosen one and some in between."""
    if len(exams) <= max_rows:
        return exams
    indexes = {round(i * (len(exams) - 1) / (max_rows - 1)) for i in range(max_rows)} | {exams.index(chosen)}
    return [exams[index] for index in sorted(indexes)]


def _with_turns(samples: QuerySet[Sample], viewer: Viewer) -> QuerySet[Sample]:
    samples = samples.filter(episode__in=Episode.objects.visible_to(viewer))
    samples = samples.select_related("episode").prefetch_related("episode__seats", "episode__turns")
    return samples.order_by("update", "group", "episode__slot", "pk")


def _row(sample: Sample) -> EpisodeRow:
    actions = tuple(bare(turn.action) for turn in sample.episode.turns.all())
    return EpisodeRow(sample.episode, sample.update, actions)
