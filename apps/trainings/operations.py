"""The operations of people on trainings: submit, pause, resume, extend and fork.

`jobs.operations.cancel` cancels one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.agents.models import Agent, Weights
from apps.episodes.models import Batch, make_id
from apps.jobs.changes import change, lock_shards, wake
from apps.jobs.errors import JobRefusal, NotYours, TooManyJobs, check_environments
from apps.jobs.models import Checkpoint, Job, JobEvent, Shard
from apps.trainings import best, permissions
from apps.trainings.alarms import alarms_of
from apps.trainings.permissions import AGENT
from gem.errors import InvalidArgument
from gem.training.spec import TrainingSpec, read_spec, read_stored, with_current_names
from gem.training.study.alarms import alarms_to_stop_for

COLOURS = 8
"""The number of colours (`data-c`) on pages and charts."""
MAX_NAME_LENGTH = 70
"""Characters of the name of a training's agent. Checkpoints append their update, and equal names a number."""
MAX_CHECKPOINTS = 1000
"""Checkpoints that a training keeps. Each is an agent that may have been evaluated, so none is deleted."""


class Unfit(JobRefusal):
    """The request is invalid for a training, or for this training in its present state."""


def check_room(owner: User, trainings: int) -> None:
    """Check that `owner` may have this many more trainings waiting or running, and has room for what they store.

    Raises:
        TooManyJobs: if not, or if their trainings and uploads fill their storage.
    """
    problem = trainings and quotas.refusal(owner, quotas.TRAININGS, trainings)
    if problem and trainings > 1:
        limit = quotas.limit_of(owner, quotas.TRAININGS)
        raise TooManyJobs(
            f"These are {trainings} trainings, and one person may have at most {limit} that wait or run, including "
            "those that you have already. None of them was submitted. Choose fewer seeds or algorithms, or wait until "
            "others end."
        )
    if problem := problem or quotas.refusal(owner, quotas.STORAGE, 0):
        raise TooManyJobs(problem)


def submit(
    owner: User,
    spec: TrainingSpec,
    *,
    name: str = "",
    idempotency_key: str = "",
    parent: Checkpoint | None = None,
    evaluate_best: bool = False,
    visibility: str = "",
) -> Job:
    """Queue a training. A second call with the same owner and `idempotency_key` returns the same job.

    Args:
        parent: the checkpoint to fork, with its weights, optimizer and number of updates; None starts anew.
        evaluate_best: submit its best checkpoint for evaluation when the training is done.
        visibility: who may see it and its checkpoints; if empty, what the account of the owner says.

    Raises:
        TooManyJobs: if the owner has as many trainings as one person may have.
        Unfit: if it has no update after its parent's, starts from an agent whose weights `owner` may not use, or names
            files or addresses of the server that `owner` may not use (see `permissions`).
    """
    return submit_all(
        owner,
        [(spec, name)],
        idempotency_key=idempotency_key,
        parent=parent,
        evaluate_best=evaluate_best,
        visibility=visibility,
    )[0]


def submit_all(
    owner: User,
    trainings: Sequence[tuple[TrainingSpec, str]],
    *,
    idempotency_key: str = "",
    parent: Checkpoint | None = None,
    evaluate_best: bool = False,
    visibility: str = "",
) -> list[Job]:
    """Queue trainings that belong together, with their names: all of them, or none. See `submit`.

    Of several trainings, the keys have their places at the end: a second call returns those that are stored already.

    Raises:
        TooManyJobs, Unfit: as `submit`; nothing was stored.
    """
    for spec, _ in trainings:
        _check(owner, spec, parent)
    keys = [idempotency_key]
    if len(trainings) > 1:
        keys = [idempotency_key and f"{idempotency_key}-{place}" for place in range(len(trainings))]
    with transaction.atomic():
        # Concurrent submissions of this person wait, so that they count each other and find each other's keys.
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        stored = Job.objects.filter(owner=owner, idempotency_key__in=filter(None, keys))
        existing_jobs = {job.idempotency_key: job for job in stored}
        if missing := sum(key not in existing_jobs for key in keys):
            check_room(owner, missing)
        return [
            existing_jobs.get(key)
            or _create(owner, spec, name, key, parent, evaluate_best=evaluate_best, visibility=visibility)
            for key, (spec, name) in zip(keys, trainings, strict=True)
        ]


def _check(owner: User, spec: TrainingSpec, parent: Checkpoint | None) -> None:
    """Check what does not change while others submit. Raises Unfit, as `submit` says."""
    if sentences := permissions.refusals(owner, spec.model_dump(mode="json")):
        raise Unfit(" ".join(sentences))
    if spec.model.startswith(AGENT):
        weights_of(owner, spec.model)
    if parent is not None and parent.update >= spec.updates:
        raise Unfit(
            f"The fork continues after update {parent.update}, so {spec.updates} updates in total are too few: "
            "ask for more updates."
        )


def _create(
    owner: User,
    spec: TrainingSpec,
    name: str,
    key: str,
    parent: Checkpoint | None,
    *,
    evaluate_best: bool,
    visibility: str,
) -> Job:
    """Store a training, for which the caller has made sure that there is room."""
    spec = with_changes(spec, {"keep_checkpoints": MAX_CHECKPOINTS})
    job_id = make_id()
    parent_update = parent.update if parent else 0
    visibility = visibility or default_visibility(owner)
    job = Job.objects.create(
        pk=job_id,
        kind=Job.Kind.TRAINING,
        name=name,
        spec=spec.model_dump(mode="json"),
        owner=owner,
        agent=_create_agent(owner, spec, job_id, name, visibility),
        batch=Batch.objects.create(kind=Batch.Kind.JOB, visibility=visibility),
        idempotency_key=key,
        episodes_total=(spec.updates - parent_update) * spec.episodes,
        parent=parent.job if parent else None,
        parent_update=parent_update,
        evaluate_best=evaluate_best,
    )
    Shard.objects.create(
        job=job, number=1, env_id=spec.env_id, first_slot=0, count=spec.updates, done=parent_update, sent=Now()
    )
    size = f"{spec.updates:,} updates of {spec.episodes:,} episodes"
    change(
        job_id,
        JobEvent.Kind.SUBMITTED,
        f"submitted: {size}" + (f", from update {parent_update}" if parent_update else ""),
        data={"updates": spec.updates},
    )
    job.refresh_from_db(fields=["seq"])
    wake(job_id)
    return job


def name_of(spec: TrainingSpec) -> str:
    """The default name of a training."""
    return spec.recipe or f"{spec.algorithm} on {spec.env_id.partition(':')[2]}"


def _create_agent(owner: User, spec: TrainingSpec, job_id: str, name: str, visibility: str) -> Agent:
    """Create the agent of the training, which plays with its newest weights."""
    return Agent.objects.create(
        slug=f"training-{job_id}",
        name=_free_name(owner, name or name_of(spec)),
        kind=Agent.Kind.CHECKPOINT,
        about=f"Trained on {spec.env_id} with {spec.algorithm}.",
        owner=owner,
        visibility=visibility,
        colour=Agent.objects.filter(owner=owner).count() % COLOURS + 1,
    )


def _free_name(owner: User, name: str) -> str:
    """The name, with a number if `owner` already has an agent of that name, because forms show only names."""
    name = name[:MAX_NAME_LENGTH]
    existing_names = set(Agent.objects.filter(owner=owner, name__startswith=name).values_list("name", flat=True))
    numbered = (f"{name} ({number})" for number in count(2))
    return name if name not in existing_names else next(free for free in numbered if free not in existing_names)


def weights_of(owner: User | None, model: str) -> Weights:
    """The weights for the `model` of a training, which is `agent:` and a slug.

    Raises:
        Unfit: if `owner` may not use such an agent, or it has no weights.
    """
    agents = Agent.objects.filter(owner=None) if owner is None else Agent.objects.selectable_by(owner)
    weights = Weights.objects.filter(agent__slug=model.removeprefix(AGENT), agent__in=agents).first()
    if weights is None or not weights.path.is_dir():
        raise Unfit(f"{model}: there is no checkpoint with that name that you can train.")
    return weights


@transaction.atomic
def pause(job_id: str, by: User) -> Job:
    """Stop a training after its current update, with a checkpoint. `resume` continues from there.

    Raises:
        NotYours, Unfit: if it belongs to somebody else, or is not running or queued.
        Job.DoesNotExist: if there is no such training.
    """
    job = _lock_training(job_id, by)
    if job.state not in {Job.State.QUEUED, Job.State.RUNNING}:
        raise Unfit(f"This training is {job.state}, so it cannot be paused.")
    Shard.objects.filter(job=job).release(state=Shard.State.PAUSED)
    Job.objects.filter(pk=job.pk).update(state=Job.State.PAUSED)
    change(job.pk, JobEvent.Kind.PAUSED, f"paused by {by.get_username()}", tone=JobEvent.Tone.WARN)
    return Job.objects.get(pk=job.pk)


@transaction.atomic
def resume(job_id: str, by: User) -> Job:
    """Continue a paused, stopped, cancelled or failed training from its last checkpoint.

    Raises:
        NotYours, Unfit: if it belongs to somebody else, or waits, runs or is done.
        CannotChange: an environment of it is gone.
        TooManyJobs: see `check_room`.
        Job.DoesNotExist: if there is no such training.
    """
    job = _lock_training(job_id, by)
    if job.state not in {Job.State.PAUSED, Job.State.STOPPED, Job.State.CANCELLED, Job.State.FAILED}:
        raise Unfit(f"This training is {job.state}. Only a paused, stopped, cancelled or failed one can be resumed.")
    check_environments(read_stored(job.spec).env_ids, "training")
    _check_room_again(job)
    _queue(job, f"resumed by {by.get_username()}")
    return Job.objects.get(pk=job.pk)


@transaction.atomic
def extend(job_id: str, by: User, updates: int) -> Job:
    """Give a training `updates` more updates. A training that was done continues.

    Raises:
        NotYours, Unfit: if it belongs to somebody else, or would have too many updates.
        TooManyJobs: see `check_room`.
        Job.DoesNotExist: if there is no such training.
    """
    job = _lock_training(job_id, by)
    if updates < 1:
        raise Unfit("Add at least one update.")
    _check_room_again(job)
    spec = changed(job, {"updates": job.spec["updates"] + updates})
    episodes_total = (spec.updates - job.parent_update) * spec.episodes
    Job.objects.filter(pk=job.pk).update(spec=spec.model_dump(mode="json"), episodes_total=episodes_total)
    Shard.objects.filter(job=job).update(count=spec.updates)
    if job.state == Job.State.RUNNING:  # its process has the old number of updates: it restarts from its checkpoint
        Shard.objects.filter(job=job).release(state=Shard.State.PAUSED)
    if job.state != Job.State.QUEUED:
        _queue(job, f"extended to {spec.updates:,} updates by {by.get_username()}")
    return Job.objects.get(pk=job.pk)


@transaction.atomic
def evaluate_best(job_id: str, by: User) -> Job | None:
    """Submit the best checkpoint of a training for evaluation: now if it has ended, otherwise when it is done.

    Returns the evaluation, or None if it is submitted later.

    Raises:
        NotYours, JobRefusal: if it belongs to somebody else, or has no checkpoint.
        Job.DoesNotExist: if there is no such training.
    """
    job = _lock_training(job_id, by)
    if job.over:
        return best.evaluate(job)
    Job.objects.filter(pk=job_id).update(evaluate_best=True)
    change(job_id, JobEvent.Kind.CHECKPOINT, "the best checkpoint will be evaluated when the training is done")
    return None


def changed(job: Job, settings_: Mapping[str, Any]) -> TrainingSpec:
    """The specification of a training with some fields changed.

    Raises:
        Unfit: if the result is invalid. The message says why.
    """
    return _changed(with_current_names(job.spec), settings_)


def with_changes(spec: TrainingSpec, settings_: Mapping[str, Any]) -> TrainingSpec:
    """The specification with some fields changed.

    Raises:
        Unfit: if the result is invalid. The message says why.
    """
    return _changed(spec.model_dump(mode="json"), settings_)


def _changed(data: Mapping[str, Any], settings_: Mapping[str, Any]) -> TrainingSpec:
    try:
        return read_spec({**data, **settings_})
    except InvalidArgument as error:
        raise Unfit(str(error)) from error


def _check_room_again(job: Job) -> None:
    """Check that the owner of a training may go on with it. If it waits or runs, it has its place already."""
    if job.owner_id is not None:
        owner = User.objects.select_for_update(no_key=True).get(pk=job.owner_id)  # as in `submit_all`
        check_room(owner, 0 if job.state in {Job.State.QUEUED, Job.State.RUNNING} else 1)


def _queue(job: Job, text: str) -> None:
    """Queue a training, which the caller has locked, for a worker to continue.

    A training that stopped by itself no longer stops for alarms: whoever continues it has seen them.
    """
    if alarms_to_stop_for(alarms_of(job), job.spec.get("stop_on", ())):
        spec = Job.objects.values_list("spec", flat=True).get(pk=job.pk)
        Job.objects.filter(pk=job.pk).update(spec={**spec, "stop_on": []})
        text += "; it no longer stops for alarms"
    afresh = {"attempt": 0, "setbacks": 0, "rests_until": None, "reason": ""}
    Shard.objects.filter(job=job).update(state=Shard.State.QUEUED, sent=Now(), **afresh)
    Job.objects.filter(pk=job.pk).update(state=Job.State.QUEUED, reason="", ended=None)
    change(job.pk, JobEvent.Kind.RESUMED, text)
    wake(job.pk)


def _lock_training(job_id: str, by: User) -> Job:
    """Lock the shard and the job of a training that `by` may change, and return the job."""
    lock_shards(job_id)
    job = Job.objects.trainings().select_for_update(of=("self",), no_key=True).get(pk=job_id)
    if not job.may_be_changed_by(by):
        raise NotYours("This training belongs to somebody else. Only its owner can change it, but you can fork it.")
    return job
