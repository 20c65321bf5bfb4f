"""The operations of people on an evaluation while it runs: pause, pace, single episodes, environments, and retries.

None of them may be used on a ranked job (`Job.is_ranked`), because nobody may choose which of its episodes count.
Workers look once a second what people want (`leases.wishes`), and every write of theirs is fenced by the lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.jobs.changes import change, lock_shards, wake
from apps.jobs.controls.orders import Order
from apps.jobs.errors import CannotChange, NotYours, Ranked, check_environments
from apps.jobs.leases import CANCELLED, end_if_done
from apps.jobs.models import Job, JobEvent, Shard
from apps.jobs.operations import check_room, find_agent
from gem.evaluation.spec import MAX_NUM_ENVS
from gem.validation.messages import count

MAX_WORKERS = 1000
State = Job.State
DONE_WITHOUT_SKIPPED = "all episodes are done, except those of skipped environments"


@transaction.atomic
def pause(job_id: str, by: User) -> Job:
    """Begin no further episode. Those that are under way are played to their end, and count. `resume` goes on.

    A job that is paused already stays so.

    Raises:
        NotYours, Ranked, CannotChange: if `by` may not change it, nobody may, or it has ended.
        Job.DoesNotExist: if there is no such evaluation; so do all of these functions.
    """
    job = _lock(job_id, by)
    _check_goes_on(job)
    if job.state != State.PAUSED:
        Job.objects.filter(pk=job_id).update(state=State.PAUSED, reason="")
        running = Shard.objects.filter(job=job_id, state=Shard.State.RUNNING).count()
        text = f"paused by {by.get_username()}" + (": episodes under way are finished" if running else "")
        change(job_id, JobEvent.Kind.PAUSED, text, tone=JobEvent.Tone.WARN)
    return Job.objects.get(pk=job_id)


@transaction.atomic
def set_pace(job_id: str, by: User, *, num_envs: int | None = None, max_workers: int | None = None) -> Job:
    """Change how much of a job is played at a time, from the next episode on. Running episodes go on.

    Args:
        num_envs: episodes that each worker plays at a time; None leaves it as it is.
        max_workers: the most workers that play the job; 0 for as many as there are, None leaves it as it is.

    Raises:
        NotYours, Ranked, CannotChange: as `pause`, or if a number is out of range.
    """
    job = _lock(job_id, by)
    _check_goes_on(job)
    if num_envs is not None and not 1 <= num_envs <= MAX_NUM_ENVS:
        raise CannotChange(f"A worker plays 1 to {MAX_NUM_ENVS} episodes at a time, not {num_envs:,}.")
    if max_workers is not None and not 0 <= max_workers <= MAX_WORKERS:
        raise CannotChange(f"A job has 1 to {MAX_WORKERS:,} workers, or 0 for no limit, not {max_workers:,}.")
    parts = []
    if num_envs is not None and num_envs != job.episodes_at_a_time:
        parts.append(f"{job.episodes_at_a_time} to {num_envs} episodes at a time")
        job.num_envs = num_envs
    if max_workers is not None and (max_workers or None) != job.max_workers:
        job.max_workers = max_workers or None
        parts.append("no limit of workers" if job.max_workers is None else _workers_at_most(job.max_workers))
    if parts:
        job.save(update_fields=["num_envs", "max_workers"])
        change(job_id, JobEvent.Kind.CHANGED, f"{', '.join(parts)}, by {by.get_username()}, from the next episode")
        wake(job_id, Shard.objects.filter(job=job_id, state=Shard.State.QUEUED).count())
    return Job.objects.get(pk=job_id)


@transaction.atomic
def cancel_episode(job_id: str, by: User, slot: int, *, counts: bool) -> Job:
    """End an episode that is not finished, at its next turn or while its agent is asked for one.

    Args:
        counts: whether it counts as not solved, with the return that it has; otherwise it is dropped, which means
            that it is recorded and not counted.

    Raises:
        NotYours, Ranked, CannotChange: as `pause`, or if there is no such episode, or it has ended.
    """
    job = _lock(job_id, by)
    _check_goes_on(job)
    if _episode(job, slot) is not None:
        raise CannotChange("This episode has ended, so there is nothing to cancel.")
    shard = _shard_of(job, slot)
    _order(shard, slot, Order.FAIL if counts else Order.DROP)
    end = "counts as not solved" if counts else "is dropped"
    seed, _ = shard.place(slot)
    text = f"{shard.env_id} seed {seed} {end}, by {by.get_username()}"
    change(job_id, JobEvent.Kind.CHANGED, text, tone=JobEvent.Tone.WARN)
    return Job.objects.get(pk=job_id)


@transaction.atomic
def requeue_episode(job_id: str, by: User, slot: int) -> Job:
    """Play an episode again from its beginning, if it is being played or was not counted.

    An episode that counts is not played again: choosing which results to replace would bias the mean.

    Raises:
        NotYours, Ranked, CannotChange, TooManyJobs: as `retry_failed`, or if the episode counts or has not begun.
    """
    job = _lock(job_id, by)
    episode = _episode(job, slot)
    if episode is not None:
        if episode.status != Episode.Status.FAILED:
            raise CannotChange(
                "This episode counts, so it is not played again: a mean of selected results is meaningless. Submit "
                "the job again, or with another seed."
            )
        _shard_of(job, slot)
        _play_again(job, [episode], by)
        return Job.objects.get(pk=job_id)
    _check_goes_on(job)
    shard = _shard_of(job, slot)
    if shard.state != Shard.State.RUNNING:
        raise CannotChange("This episode is already waiting for a worker.")
    _order(shard, slot, Order.AGAIN)
    seed, _ = shard.place(slot)
    text = f"{shard.env_id} seed {seed} begins again, by {by.get_username()}"
    change(job_id, JobEvent.Kind.CHANGED, text, tone=JobEvent.Tone.WARN)
    return Job.objects.get(pk=job_id)


@transaction.atomic
def retry_failed(job_id: str, by: User, env_id: str = "") -> Job:
    """Play again what was not counted: environment errors and unanswered episodes, in their slots.

    A job that is done goes on; one that failed also plays what it had not played. The replaced episodes keep their
    pages and are listed as replaced, and their tokens stay counted. Episodes that a person dropped are left out, and
    so are those of skipped environments (`bring_back`).

    Args:
        env_id: only in this environment; empty for all.

    Raises:
        NotYours, Ranked, CannotChange: as `pause`, or if nothing has failed, or the job was cancelled.
        UnknownAgent: if an agent is no longer available to the owner.
        TooManyJobs: if the job has ended and its owner has as many queued jobs as one person may have.
    """
    job = _lock(job_id, by)
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False, status=Episode.Status.FAILED)
    episodes = episodes.exclude(failure=CANCELLED)
    if env_id:
        _check_environment(job, env_id)
        episodes = episodes.filter(env_id=env_id)
    failed = list(episodes.only("pk", "slot", "failed_by", "failure", "turn_count").order_by("slot"))
    skipped = list(Shard.objects.filter(job=job_id, skipped=True))
    chosen = [episode for episode in failed if not any(episode.slot in shard.slots for shard in skipped)]
    if not chosen and job.state != State.FAILED:
        raise CannotChange("No episode has failed, so there is nothing to play again.")
    _play_again(job, chosen, by)
    return Job.objects.get(pk=job_id)


@transaction.atomic
def skip_environment(job_id: str, by: User, env_id: str) -> Job:
    """Drop all episodes of an environment that are not finished, also those under way. The result is then partial.

    Raises:
        NotYours, Ranked, CannotChange: as `pause`, or if there is nothing to skip or it would leave nothing to play.
    """
    job = _lock(job_id, by)
    _check_goes_on(job)
    _check_environment(job, env_id)
    shards = Shard.objects.filter(job=job_id)
    open_shards = shards.filter(env_id=env_id, skipped=False).exclude(state=Shard.State.DONE)
    if not open_shards.exists():
        raise CannotChange(f"No episode of {env_id} is left to skip in this job.")
    if not shards.exclude(env_id=env_id).filter(skipped=False).exists():
        raise CannotChange("This is the only environment that is left in this job. Cancel the job instead.")
    open_shards.release(state=Shard.State.CANCELLED, skipped=True, orders={})
    played = sum(shards.filter(env_id=env_id).values_list("done", flat=True))
    planned = sum(shards.filter(env_id=env_id).values_list("count", flat=True))
    text = f"{env_id} skipped by {by.get_username()}: {played:,} of {planned:,} episodes were played"
    change(job_id, JobEvent.Kind.CHANGED, text, tone=JobEvent.Tone.WARN)
    end_if_done(job_id, DONE_WITHOUT_SKIPPED)
    return Job.objects.get(pk=job_id)


@transaction.atomic
def bring_back(job_id: str, by: User, env_id: str) -> Job:
    """Play the rest of an environment that was skipped. A job that failed also plays what else it had not played.

    Raises:
        NotYours, Ranked, CannotChange, TooManyJobs: as `retry_failed`, or if the environment was not skipped.
    """
    job = _lock(job_id, by)
    _check_environment(job, env_id)
    skipped = Shard.objects.filter(job=job_id, env_id=env_id, skipped=True)
    if not skipped.exists():
        raise CannotChange(f"{env_id} was not skipped in this job.")
    _check_can_go_on(job)
    _queue_what_failed(job)
    skipped.update(state=Shard.State.QUEUED, skipped=False, **_FRESH)
    _go_on(job, JobEvent.Kind.CHANGED, f"{env_id} is played again, by {by.get_username()}")
    return Job.objects.get(pk=job_id)


# ------------------------------------------------------------------ helpers


_FRESH = {"attempt": 0, "setbacks": 0, "rests_until": None, "sent": Now()}
"""What a shard has that waits for its first attempt."""


def _lock(job_id: str, by: User) -> Job:
    """Lock the shards of an evaluation and its row, and return it, if `by` may use these functions on it."""
    lock_shards(job_id)
    job = Job.objects.evaluations().select_for_update().get(pk=job_id)
    check_may_change(job, by)
    return job


def check_may_change(job: Job, by: User) -> None:
    """Refuse whoever may not change how this evaluation is played.

    Raises:
        NotYours, Ranked: it belongs to somebody else, or nobody may.
    """
    if not job.may_be_changed_by(by):
        raise NotYours("This job belongs to somebody else. Only its owner can change how it runs.")
    if job.is_ranked:
        raise Ranked(
            f"This job counts on the leaderboard of {job.spec['benchmark']}, so it is played as it was submitted: "
            "nobody may choose which of its episodes count. You can cancel it and submit it again."
        )


def _check_goes_on(job: Job) -> None:
    if job.over:
        raise CannotChange(f"This job has ended ({job.state_in_words}), so there is nothing to change.")


def _workers_at_most(number: int) -> str:
    return "at most 1 worker" if number == 1 else f"at most {number} workers"


def _check_environment(job: Job, env_id: str) -> None:
    if env_id not in job.spec["env_ids"]:
        raise CannotChange("This job does not have this environment. Choose one of its environments.")


def _check_can_go_on(job: Job) -> None:
    """Check that a job that has ended may go on: it was not stopped, and what it needs and a place are there."""
    if not job.over:
        return
    if job.state == State.DECIDED:
        raise CannotChange(
            "This job stopped because its comparison was decided, and further episodes would not change that. "
            "Submit it again to play all of them."
        )
    if job.state == State.STOPPED:
        raise CannotChange(
            f"This job was {job.state_in_words}, so it cannot continue. Submit it again with a larger one."
        )
    if job.state == State.CANCELLED:
        raise CannotChange(f"This job is {job.state_in_words}, so it cannot continue. Submit it again.")
    for slug in filter(None, (job.spec["agent"], job.spec.get("opponent"))):
        find_agent(job.owner, slug)
    check_environments(job.spec["env_ids"], "job")
    check_room(job)


def _go_on(job: Job, kind: JobEvent.Kind, text: str, slots: Iterable[int] = (), **data: object) -> None:
    """Queue a job again if it has ended, and wake workers for its shards."""
    if job.over:
        Job.objects.filter(pk=job.pk).update(state=State.QUEUED, reason="", ended=None)
    change(job.pk, kind, text, slots=list(slots), data=data)
    wake(job.pk, Shard.objects.filter(job=job.pk, state=Shard.State.QUEUED).count())


def _queue_what_failed(job: Job) -> None:
    """Queue what a job that failed has not played, for the job to go on."""
    if job.state == State.FAILED:
        left = Shard.objects.filter(job=job.pk, skipped=False).exclude(state=Shard.State.DONE)
        left.release(state=Shard.State.QUEUED, reason="", **_FRESH)


def _play_again(job: Job, episodes: Sequence[Episode], by: User) -> None:
    """Empty the slots of these episodes, which were not counted, and queue their shards."""
    _check_can_go_on(job)
    _queue_what_failed(job)
    by_slot = {episode.slot: episode for episode in episodes if episode.slot is not None}
    for shard in Shard.objects.filter(job=job.pk):
        slots = [slot for slot in shard.slots if slot in by_slot]
        if not slots:
            continue
        shard.done -= len(slots)
        shard.errors -= len(slots)
        shard.unanswered -= sum(by_slot[slot].failed_by == Episode.FailedBy.AGENT for slot in slots)
        shard.cancelled -= sum(by_slot[slot].failure == CANCELLED for slot in slots)
        shard.orders = {slot: order for slot, order in shard.orders.items() if int(slot) not in by_slot}
        if shard.state == Shard.State.DONE:
            shard.state, shard.attempt, shard.setbacks, shard.rests_until = Shard.State.QUEUED, 0, 0, None
        shard.save()
    Shard.objects.filter(job=job.pk, state=Shard.State.QUEUED).update(sent=Now())
    Episode.objects.filter(pk__in=[episode.pk for episode in episodes]).update(slot=None)
    Job.objects.filter(pk=job.pk).update(
        episodes_done=F("episodes_done") - len(by_slot),
        turns_done=F("turns_done") - sum(episode.turn_count for episode in episodes),
    )
    number = count(len(by_slot), "episode")
    text = f"{number} played again, by {by.get_username()}" if by_slot else f"goes on, by {by.get_username()}"
    replaced = {str(slot): episode.pk for slot, episode in by_slot.items()}
    _go_on(job, JobEvent.Kind.RETRIED, text, by_slot, replaced=replaced)


def _episode(job: Job, slot: int) -> Episode | None:
    return Episode.objects.filter(batch=job.batch_id, slot=slot).first()


def _shard_of(job: Job, slot: int) -> Shard:
    """The shard with this slot, which is not skipped."""
    shard = Shard.objects.filter(job=job.pk, first_slot__lte=slot).order_by("-first_slot").first()
    if shard is None or slot not in shard.slots:
        raise CannotChange(f"There is no episode in place {slot:,} of this job.")
    if shard.skipped:
        raise CannotChange(f"{shard.env_id} was skipped, so this episode is not played.")
    return shard


def _order(shard: Shard, slot: int, order: Order) -> None:
    shard.orders = {**shard.orders, str(slot): order.value}
    shard.save(update_fields=["orders"])
