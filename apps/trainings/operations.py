"""What people do with trainings: submit, pause, resume, extend, and fork them. `jobs.operations.cancel` ends one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.agents.models import Agent, Weights
from apps.episodes.models import Batch, make_id
from apps.jobs.changes import change, lock_shards, wake
from apps.jobs.errors import JobRefusal, NotYours, TooManyJobs
from apps.jobs.models import Checkpoint, Job, JobEvent, Shard
from apps.trainings import best, permissions
from apps.trainings.permissions import AGENT
from gem.errors import InvalidArgument
from gem.training.spec import TrainingSpec, read_spec

COLOURS = 8
"""`data-c` on every page and chart."""
LONGEST_NAME = 70
"""Of an agent that a training makes; its checkpoints add their update, and the second of a name a number."""
KEPT = 1000
"""Checkpoints: each is an agent that somebody may have evaluated, so none is thrown away."""


class Unfit(JobRefusal):
    """What was asked for fits no training, or not this one in its present state."""


def check_room(owner: User, trainings: int) -> None:
    """Return if `owner` may have so many more trainings waiting or running.

    Raises:
        TooManyJobs: if not.
    """
    open_ones = Job.objects.trainings().active().filter(owner=owner).count()
    if open_ones + trainings > settings.TRAININGS_PER_USER:
        open_words = "1 training" if open_ones == 1 else f"{open_ones} trainings"
        raise TooManyJobs(
            f"You have {open_words} waiting or running; one person may have at most "
            f"{settings.TRAININGS_PER_USER}. Wait until one ends, pause one, or cancel one."
        )


def submit(
    owner: User,
    spec: TrainingSpec,
    *,
    name: str = "",
    idempotency_key: str = "",
    parent: Checkpoint | None = None,
    evaluate_best: bool = False,
) -> Job:
    """Queue a training; the same `idempotency_key` of the same owner gives the same job.

    Args:
        parent: the checkpoint whose weights, optimizer and count of updates it goes on from; None begins anew.
        evaluate_best: submit its best checkpoint for evaluation when it ends.

    Raises:
        TooManyJobs: if the owner has as many trainings as one person may have.
        Unfit: if it would begin after its own last update, or with an agent whose weights `owner` may not use, or
            names files or addresses of the server that are not for `owner` (`permissions`).
    """
    if beyond := permissions.refusals(owner, spec.model_dump(mode="json")):
        raise Unfit(" ".join(beyond))
    if spec.model.startswith(AGENT):
        weights_of(owner, spec.model)
    if parent is not None and parent.update >= spec.updates:
        raise Unfit(
            f"The fork continues after update {parent.update}, so {spec.updates} updates in total are too few: "
            "ask for more updates."
        )
    if idempotency_key and (earlier := Job.objects.filter(owner=owner, idempotency_key=idempotency_key).first()):
        return earlier
    try:
        return _create(owner, spec, name, idempotency_key, parent, evaluate_best=evaluate_best)
    except IntegrityError:
        return Job.objects.get(owner=owner, idempotency_key=idempotency_key)


@transaction.atomic
def _create(
    owner: User, spec: TrainingSpec, name: str, key: str, parent: Checkpoint | None, *, evaluate_best: bool
) -> Job:
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two submissions at once count each other
    check_room(owner, 1)
    spec = with_changes(spec, {"keep_checkpoints": KEPT})
    job_id = make_id()
    began = parent.update if parent else 0
    job = Job.objects.create(
        pk=job_id,
        kind=Job.Kind.TRAINING,
        name=name,
        spec=spec.model_dump(mode="json"),
        owner=owner,
        agent=_apprentice(owner, spec, job_id, name),
        batch=Batch.objects.create(kind=Batch.Kind.JOB),
        idempotency_key=key,
        episodes_total=spec.updates * spec.episodes,
        parent=parent.job if parent else None,
        parent_update=began,
        evaluate_best=evaluate_best,
    )
    Shard.objects.create(
        job=job, number=1, env_id=spec.env_id, first_slot=0, count=spec.updates, done=began, sent=Now()
    )
    what = f"{spec.updates:,} updates of {spec.episodes:,} episodes"
    change(job_id, JobEvent.Kind.SUBMITTED, f"submitted: {what}" + (f", from update {began}" if began else ""))
    job.refresh_from_db(fields=["seq"])
    wake(job_id)
    return job


def name_of(spec: TrainingSpec) -> str:
    """What a training is called that nobody has named."""
    return spec.recipe or f"{spec.algorithm} on {spec.env_id.partition(':')[2]}"


def _apprentice(owner: User, spec: TrainingSpec, job_id: str, name: str) -> Agent:
    """The agent that the training makes: it plays with the newest weights."""
    return Agent.objects.create(
        slug=f"training-{job_id}",
        name=_free_name(owner, name or name_of(spec)),
        kind=Agent.Kind.CHECKPOINT,
        about=f"Trained on {spec.env_id} with {spec.algorithm}.",
        owner=owner,
        shared=True,  # it costs its owner nothing to let it play
        colour=Agent.objects.filter(owner=owner).count() % COLOURS + 1,
    )


def _free_name(owner: User, wanted: str) -> str:
    """The name, with a number where `owner` has an agent of that name: forms tell agents apart by their names."""
    wanted = wanted[:LONGEST_NAME]
    taken = set(Agent.objects.filter(owner=owner, name__startswith=wanted).values_list("name", flat=True))
    numbered = (f"{wanted} ({number})" for number in count(2))
    return wanted if wanted not in taken else next(name for name in numbered if name not in taken)


def weights_of(owner: User | None, model: str) -> Weights:
    """The weights that the `model` of a training names as `agent:` and a short name.

    Raises:
        Unfit: if there is no such agent that `owner` may use, or it has no weights.
    """
    agents = Agent.objects.filter(owner=None) if owner is None else Agent.objects.selectable_by(owner)
    found = Weights.objects.filter(agent__slug=model.removeprefix(AGENT), agent__in=agents).first()
    if found is None or not found.path.is_dir():
        raise Unfit(f"{model}: there is no checkpoint with that name that you can train.")
    return found


@transaction.atomic
def pause(job_id: str, by: User) -> Job:
    """Stop a training after the update under way, with a checkpoint; `resume` goes on from there.

    Raises:
        NotYours, Unfit: if it is somebody else's, or over.
        Job.DoesNotExist: if there is no such training.
    """
    job = _theirs(job_id, by)
    if job.state not in {Job.State.QUEUED, Job.State.RUNNING}:
        raise Unfit(f"This training is {job.state}, so it cannot be paused.")
    Shard.objects.filter(job=job).release(state=Shard.State.PAUSED)
    Job.objects.filter(pk=job.pk).update(state=Job.State.PAUSED)
    change(job.pk, JobEvent.Kind.REQUEUED, f"paused by {by.get_username()}", tone=JobEvent.Tone.WARN)
    return Job.objects.get(pk=job.pk)


@transaction.atomic
def resume(job_id: str, by: User) -> Job:
    """Go on with a training that was paused or cancelled, or that failed, from its last checkpoint.

    Raises:
        NotYours, Unfit: if it is somebody else's, or not stopped.
        Job.DoesNotExist: if there is no such training.
    """
    job = _theirs(job_id, by)
    if job.state not in {Job.State.PAUSED, Job.State.CANCELLED, Job.State.FAILED}:
        raise Unfit(f"This training is {job.state}. Only a paused, cancelled or failed training can be resumed.")
    _queue(job, f"resumed by {by.get_username()}")
    return Job.objects.get(pk=job.pk)


@transaction.atomic
def extend(job_id: str, by: User, updates: int) -> Job:
    """Give a training `updates` more updates; one that was done goes on.

    Raises:
        NotYours, Unfit: if it is somebody else's, or cannot have so many.
        Job.DoesNotExist: if there is no such training.
    """
    job = _theirs(job_id, by)
    if updates < 1:
        raise Unfit("Add at least one update.")
    spec = changed(job, {"updates": job.spec["updates"] + updates})
    Job.objects.filter(pk=job.pk).update(spec=spec.model_dump(mode="json"), episodes_total=spec.updates * spec.episodes)
    Shard.objects.filter(job=job).update(count=spec.updates)
    if job.state == Job.State.RUNNING:  # its process was started for fewer: it begins again from its checkpoint
        Shard.objects.filter(job=job).release(state=Shard.State.PAUSED)
    if job.state != Job.State.QUEUED:
        _queue(job, f"extended to {spec.updates:,} updates by {by.get_username()}")
    return Job.objects.get(pk=job.pk)


@transaction.atomic
def evaluate_best(job_id: str, by: User) -> Job | None:
    """Submit the best checkpoint of a training for evaluation: now if it has ended, otherwise when it is done.

    The evaluation, or None if it is still to come.

    Raises:
        NotYours, JobRefusal: if it is somebody else's, or there is nothing to evaluate.
        Job.DoesNotExist: if there is no such training.
    """
    job = _theirs(job_id, by)
    if job.over:
        return best.evaluate(job)
    Job.objects.filter(pk=job_id).update(evaluate_best=True)
    change(job_id, JobEvent.Kind.CHECKPOINT, "the best checkpoint will be evaluated when the training is done")
    return None


def changed(job: Job, settings_: Mapping[str, Any]) -> TrainingSpec:
    """The specification of a training with some fields changed.

    Raises:
        Unfit: if that fits no training; the message says why.
    """
    return with_changes(read_spec(job.spec), settings_)


def with_changes(spec: TrainingSpec, settings_: Mapping[str, Any]) -> TrainingSpec:
    """The specification with some fields changed.

    Raises:
        Unfit: if that fits no training; the message says why.
    """
    try:
        return read_spec({**spec.model_dump(mode="json"), **settings_})
    except InvalidArgument as error:
        raise Unfit(str(error)) from error


def _queue(job: Job, text: str) -> None:
    """Let a worker go on with it (locked)."""
    Shard.objects.filter(job=job).update(state=Shard.State.QUEUED, attempt=0, reason="", sent=Now())
    Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED, reason="", ended=None)
    change(job.pk, JobEvent.Kind.REQUEUED, text)
    wake(job.pk)


def _theirs(job_id: str, by: User) -> Job:
    """The training, with its shard locked as every writer locks it."""
    lock_shards(job_id)
    job = Job.objects.trainings().select_for_update(of=("self",), no_key=True).get(pk=job_id)
    if not job.may_be_changed_by(by):
        raise NotYours("This training belongs to somebody else. Only its owner can change it, but you can fork it.")
    return job
