"""The writes of a training's worker: points, samples, checkpoints, and its end. Each write is fenced."""

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
from apps.episodes.models import Batch, Episode
from apps.episodes.storing.bulk import copy_episodes
from apps.episodes.text import storable
from apps.jobs.changes import change, end
from apps.jobs.leases import Claim, note_progress, owned
from apps.jobs.models import Checkpoint, Job, JobEvent, Point, Sample, Shard
from apps.leases import LeaseLost
from apps.trainings import alarms
from apps.trainings.best import evaluate_if_requested
from gem.records import EpisodeRecord
from gem.training.checkpoints.archive import sha256
from gem.training.checkpoints.folder_check import WEIGHTS, check_folder
from gem.training.checkpoints.weights_file import parameters_in


@dataclass(frozen=True, slots=True)
class KeptEpisode:
    """An episode that a training keeps as a sample."""

    update: int
    group: int
    record: EpisodeRecord
    exam: bool = False
    """Whether it was played with a checkpoint on a fixed seed: see `Sample.exam`."""


def folder_of(job_id: str) -> Path:
    """The folder of a training."""
    return Path(settings.RUNS_DIR) / job_id


COUNTED = ("episodes", "turns", "seconds")
"""Metrics that are counted from the first update on. A fork continues the counts of its parent."""


def before_fork(job: Job) -> dict[str, float]:
    """What the parent of a fork had counted at the checkpoint that the fork continues from; zeros without a parent.

    Where the parent was deleted with its metrics, its episodes are those of its updates, as far as this is known.
    """
    if not job.parent_update:
        return dict.fromkeys(COUNTED, 0)
    point = Point.objects.filter(job=job.parent_id, update=job.parent_update).first() if job.parent_id else None
    if point is None:
        return {"episodes": job.parent_update * job.spec["episodes"], "turns": 0, "seconds": 0}
    return {name: point.data.get(name, 0) for name in COUNTED}


@transaction.atomic
def record_points(claim: Claim, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store the points of updates. An update that is repeated after a restart replaces its earlier point.

    Raises:
        LeaseLost: if this worker no longer owns the training. Nothing is written then.
    """
    shard = _lock_owned_shard(claim)
    points = [Point(job_id=claim.job_id, update=row["update"], data=dict(row)) for row in rows]
    Point.objects.bulk_create(points, update_conflicts=True, unique_fields=["job", "update"], update_fields=["data"])
    for point in points:  # a checkpoint may be found before the point of its update is read
        early = Checkpoint.objects.filter(job=claim.job_id, update=point.update, success=None)
        early.update(success=point.data.get("success"))
    last = rows[-1]
    if last["update"] > shard.done:
        note_progress(shard)
    shard.done = last["update"]
    shard.turns = last["turns"]
    shard.seconds = last["seconds"]
    shard.save(update_fields=["attempt", "setbacks", "done", "turns", "seconds"])
    latest = {name: last[name] for name in ("update", "success", "return")}
    known, found = alarms.store(claim.job_id, latest)
    before = before_fork(Job.objects.get(pk=claim.job_id))
    Job.objects.filter(pk=claim.job_id).update(
        episodes_done=max(0, last["episodes"] - before["episodes"]),
        turns_done=max(0, last["turns"] - before["turns"]),
        seconds_busy=max(0.0, last["seconds"] - before["seconds"]),
        latest=latest,
    )
    text = f"update {last['update']:,}: success {last['success']:.1%}, return {last['return']:.3f}"
    data = {"updates": [row["update"] for row in rows]}
    change(claim.job_id, JobEvent.Kind.UPDATES, text, data=data)
    for alarm in alarms.changed_alarms(known, found):
        tone = JobEvent.Tone.WARN if alarm.holds else JobEvent.Tone.PLAIN
        change(claim.job_id, JobEvent.Kind.ALARM, alarm.line, tone=tone, data={"alarm": alarms.plain(alarm)})


@transaction.atomic
def record_samples(claim: Claim, episodes: Sequence[KeptEpisode]) -> None:
    """Store the samples of one update. They replace those of the same update from before a restart.

    A worker that continues a training reads all files again. Samples that are already stored are left as they are, so
    that the addresses of their episodes stay valid.

    Raises:
        LeaseLost: if this worker no longer owns the training. Nothing is written then.
    """
    _lock_owned_shard(claim)
    first = episodes[0]
    if _stored_actions(claim.job_id, first) == [_actions(episode.record) for episode in episodes]:
        return
    Episode.objects.filter(sample__job=claim.job_id, sample__update=first.update, sample__exam=first.exam).delete()
    highest = Episode.objects.filter(batch=claim.batch_id).aggregate(highest=Max("slot"))["highest"]
    slot = 0 if highest is None else highest + 1
    records = [replace(episode.record, index=slot + place) for place, episode in enumerate(episodes)]
    copy_episodes(claim.batch_id, claim.agent.pk, records, timezone.now(), of_job=True)
    ids = dict(Episode.objects.filter(batch=claim.batch_id, slot__gte=slot).values_list("slot", "pk"))
    Sample.objects.bulk_create(
        Sample(
            episode_id=ids[slot + place],
            job_id=claim.job_id,
            update=episode.update,
            group=episode.group,
            exam=episode.exam,
        )
        for place, episode in enumerate(episodes)
    )
    kept = [ids[slot + place] for place in range(len(episodes))]
    data = {"update": first.update, "exam": first.exam, "episodes": kept}
    change(claim.job_id, JobEvent.Kind.SAMPLES, f"{len(kept):,} episodes of update {first.update:,} kept", data=data)


def _stored_actions(job_id: str, first: KeptEpisode) -> list[tuple[int, list[str]]]:
    """Seeds and actions of the stored samples of the same update as `first`, in order."""
    samples = Sample.objects.filter(job=job_id, update=first.update, exam=first.exam).order_by("episode__slot")
    episodes = [sample.episode for sample in samples.select_related("episode").prefetch_related("episode__turns")]
    return [(episode.seed, [turn.action for turn in episode.turns.all()]) for episode in episodes]


def _actions(record: EpisodeRecord) -> tuple[int, list[str]]:
    return record.identity.seed, [storable(turn.action) for turn in record.turns]


def record_checkpoint(claim: Claim, path: Path) -> None:
    """Create the agent of a checkpoint, and give the same weights to the training's own agent.

    Raises:
        LeaseLost: if this worker no longer owns the training. Nothing is written then.
        InvalidArgument: if the folder does not hold a policy.
    """
    card = check_folder(path)
    folder = str(path.relative_to(settings.RUNS_DIR))
    weights = {"folder": folder, "size": (path / WEIGHTS).stat().st_size, "sha256": sha256(path / WEIGHTS)}
    parameters = parameters_in(path / WEIGHTS)
    weights["card"] = {**card.model_dump(mode="json"), "job": claim.job_id, "parameters": parameters}
    _store_checkpoint(claim, card.update, weights)


@transaction.atomic
def _store_checkpoint(claim: Claim, update: int, weights: dict[str, Any]) -> None:
    """Write what `record_checkpoint` has read, which takes seconds for a large policy and needs no lock."""
    _lock_owned_shard(claim)
    batch = Batch.objects.select_for_update(no_key=True).get(pk=claim.batch_id)  # see `jobs.operations.set_visibility`
    job = Job.objects.select_related("agent").get(pk=claim.job_id)
    if Weights.objects.filter(agent__checkpoint__job=job, agent__checkpoint__update=update, **weights).exists():
        return  # stored before the training was stopped and continued
    point = Point.objects.filter(job=job, update=update).first()
    agent, _ = Agent.objects.update_or_create(
        slug=f"checkpoint-{job.pk}-{update}",
        defaults={
            "name": f"{job.agent.name[:70]} {update}",
            "kind": Agent.Kind.CHECKPOINT,
            "about": f"{job.agent.name} after update {update}.",
            "owner": job.owner,
            "colour": job.agent.colour,
            "listed": False,
            "visibility": batch.visibility,
        },
    )
    for player in (agent, job.agent):
        Weights.objects.update_or_create(agent=player, defaults=weights)
    Agent.objects.filter(pk__in=[agent.pk, job.agent_id]).update(parameters=weights["card"].get("parameters") or None)
    success = point.data.get("success") if point else None
    Checkpoint.objects.update_or_create(job=job, update=update, defaults={"agent": agent, "success": success})
    text = f"checkpoint after update {update:,}"
    change(job.pk, JobEvent.Kind.CHECKPOINT, text, data={"update": update, "agent": agent.slug})


@transaction.atomic
def finish(claim: Claim) -> None:
    """End the job after its last update.

    Raises:
        LeaseLost: if this worker no longer owns the training. Nothing is written then.
    """
    shard = _lock_owned_shard(claim)
    shard.state = Shard.State.DONE
    shard.let_go()
    shard.save(update_fields=["state", "lease_token", "lease_until"])
    if end(claim.job_id, Job.State.DONE, "", "all updates are done"):
        evaluate_if_requested(claim.job_id)


@transaction.atomic
def stop(claim: Claim, reason: str) -> None:
    """End the job because the training stopped by itself: see `TrainingSpec.stop_on`. It is no success.

    The evaluation of its best checkpoint is submitted if it was asked for and one is better than the start.

    Raises:
        LeaseLost: if this worker no longer owns the training. Nothing is written then.
    """
    shard = _lock_owned_shard(claim)
    shard.state, shard.reason = Shard.State.STOPPED, reason
    shard.let_go()
    shard.save(update_fields=["state", "reason", "lease_token", "lease_until"])
    if end(claim.job_id, Job.State.STOPPED, reason, f"stopped by its alarm. {reason}", JobEvent.Tone.WARN):
        evaluate_if_requested(claim.job_id)


@transaction.atomic
def fail(claim: Claim, reason: str) -> None:
    """End the job as failed because the training cannot continue. Another attempt would end in the same way.

    Raises:
        LeaseLost: if this worker no longer owns the training. Nothing is written then.
    """
    shard = _lock_owned_shard(claim)
    shard.state, shard.reason = Shard.State.FAILED, reason
    shard.let_go()
    shard.save(update_fields=["state", "reason", "lease_token", "lease_until"])
    end(claim.job_id, Job.State.FAILED, reason, reason, JobEvent.Tone.LOSS)


def _lock_owned_shard(claim: Claim) -> Shard:
    shard = owned(claim).select_for_update().first()
    if shard is None:
        raise LeaseLost(f"training {claim.job_id} is no longer ours")
    return shard
