"""What the worker of a training writes: points, sampled episodes, checkpoints, its end. Each write is fenced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from apps.agents.models import Agent, Weights
from apps.episodes.bulk import copy_episodes
from apps.episodes.models import Episode
from apps.episodes.text import storable
from apps.jobs.changes import change, end
from apps.jobs.leases import Claim, owned
from apps.jobs.models import Checkpoint, Job, JobEvent, Point, Sample, Shard
from apps.leases import LeaseLost
from apps.trainings.best import evaluate_if_wished
from gem.records import EpisodeRecord
from gem.training.checkpoints.archive import sha256
from gem.training.checkpoints.folder_check import WEIGHTS, check_folder


@dataclass(frozen=True, slots=True)
class KeptEpisode:
    """An episode that a training wrote down to be looked at."""

    update: int
    group: int
    record: EpisodeRecord
    exam: bool = False
    """Not learned from: see `Sample.exam`."""


def folder_of(job_id: str) -> Path:
    """Where a training writes."""
    return Path(settings.RUNS_DIR) / job_id


@transaction.atomic
def record_points(claim: Claim, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the points of updates; one that was made again after a restart takes the place of the first.

    Raises:
        LeaseLost: if the training is no longer this worker's; nothing is written.
    """
    shard = _held(claim)
    points = [Point(job_id=claim.job_id, update=row["update"], data=dict(row)) for row in rows]
    Point.objects.bulk_create(points, update_conflicts=True, unique_fields=["job", "update"], update_fields=["data"])
    last = rows[-1]
    shard.done = last["update"]
    shard.turns = last["turns"]
    shard.seconds = last["seconds"]
    shard.save(update_fields=["done", "turns", "seconds"])
    latest = {name: last[name] for name in ("update", "success", "return")}
    Job.objects.filter(pk=claim.job_id).update(
        episodes_done=last["episodes"], turns_done=last["turns"], seconds_busy=last["seconds"], latest=latest
    )
    text = f"update {last['update']:,}: success {last['success']:.1%}, return {last['return']:.3f}"
    change(claim.job_id, JobEvent.Kind.UPDATES, text)


@transaction.atomic
def record_samples(claim: Claim, kept: Sequence[KeptEpisode]) -> None:
    """Write sampled episodes of one update; they replace those of the same update that was made before a restart.

    A worker that goes on with a training reads all files again. What is written down already stays, and with it the
    addresses of the episodes.

    Raises:
        LeaseLost: if the training is no longer this worker's; nothing is written.
    """
    _held(claim)
    first = kept[0]
    if _played(claim.job_id, first) == [_actions(one.record) for one in kept]:
        return
    Episode.objects.filter(sample__job=claim.job_id, sample__update=first.update, sample__exam=first.exam).delete()
    highest = Episode.objects.filter(batch=claim.batch_id).aggregate(highest=Max("slot"))["highest"]
    slot = 0 if highest is None else highest + 1
    records = [replace(one.record, index=slot + place) for place, one in enumerate(kept)]
    copy_episodes(claim.batch_id, claim.agent.pk, records, timezone.now(), of_job=True)
    ids = dict(Episode.objects.filter(batch=claim.batch_id, slot__gte=slot).values_list("slot", "pk"))
    Sample.objects.bulk_create(
        Sample(
            episode_id=ids[slot + place],
            job_id=claim.job_id,
            update=one.update,
            group=one.group,
            exam=one.exam,
        )
        for place, one in enumerate(kept)
    )


def _played(job_id: str, like: KeptEpisode) -> list[tuple[int, list[str]]]:
    """Seed and actions of the episodes that are kept of an update, in their order."""
    known = Sample.objects.filter(job=job_id, update=like.update, exam=like.exam).order_by("episode__slot")
    episodes = [one.episode for one in known.select_related("episode").prefetch_related("episode__turns")]
    return [(one.seed, [turn.action for turn in one.turns.all()]) for one in episodes]


def _actions(record: EpisodeRecord) -> tuple[int, list[str]]:
    return record.identity.seed, [storable(turn.action) for turn in record.turns]


@transaction.atomic
def record_checkpoint(claim: Claim, place: Path) -> None:
    """Make an agent of a checkpoint, and let the training's own agent play with it.

    Raises:
        LeaseLost: if the training is no longer this worker's; nothing is written.
        InvalidArgument: if the folder is no policy's.
    """
    _held(claim)
    card = check_folder(place)
    job = Job.objects.select_related("agent").get(pk=claim.job_id)
    folder = str(place.relative_to(settings.RUNS_DIR))
    told = {"folder": folder, "size": (place / WEIGHTS).stat().st_size, "sha256": sha256(place / WEIGHTS)}
    told["card"] = {**card.model_dump(mode="json"), "job": job.pk}
    if Weights.objects.filter(agent__checkpoint__job=job, agent__checkpoint__update=card.update, **told).exists():
        return  # written down before the training was stopped and went on
    point = Point.objects.filter(job=job, update=card.update).first()
    agent, _ = Agent.objects.update_or_create(
        slug=f"checkpoint-{job.pk}-{card.update}",
        defaults={
            "name": f"{job.agent.name[:70]} {card.update}",
            "kind": Agent.Kind.CHECKPOINT,
            "about": f"{job.agent.name} after update {card.update}.",
            "owner": job.owner,
            "colour": job.agent.colour,
            "listed": False,
            "shared": True,
        },
    )
    for each in (agent, job.agent):
        Weights.objects.update_or_create(agent=each, defaults=told)
    success = point.data.get("success") if point else None
    Checkpoint.objects.update_or_create(job=job, update=card.update, defaults={"agent": agent, "success": success})
    change(job.pk, JobEvent.Kind.CHECKPOINT, f"checkpoint after update {card.update:,}")


@transaction.atomic
def finish(claim: Claim) -> None:
    """The last update is made: end the job.

    Raises:
        LeaseLost: if the training is no longer this worker's; nothing is written.
    """
    shard = _held(claim)
    shard.state = Shard.State.DONE
    shard.let_go()
    shard.save(update_fields=["state", "lease_token", "lease_until"])
    if end(claim.job_id, Job.State.DONE, "", "all updates are done"):
        evaluate_if_wished(claim.job_id)


@transaction.atomic
def fail(claim: Claim, reason: str) -> None:
    """The training itself says that it cannot go on: trying again would end in the same way.

    Raises:
        LeaseLost: if the training is no longer this worker's; nothing is written.
    """
    shard = _held(claim)
    shard.state, shard.reason = Shard.State.FAILED, reason
    shard.let_go()
    shard.save(update_fields=["state", "reason", "lease_token", "lease_until"])
    end(claim.job_id, Job.State.FAILED, reason, reason, JobEvent.Tone.LOSS)


def stored_updates(claim: Claim) -> set[int]:
    """The updates whose samples are written."""
    return set(Sample.objects.filter(job=claim.job_id).values_list("update", flat=True))


def _held(claim: Claim) -> Shard:
    shard = owned(claim).select_for_update().first()
    if shard is None:
        raise LeaseLost(f"training {claim.job_id} is no longer ours")
    return shard
