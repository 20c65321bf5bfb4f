"""The building blocks of every write to a job: row locks in one order, and an event for each change.

Rows are locked in one order, shards before their job, so that no two writers deadlock. Each change raises
`Job.seq`, stores a `JobEvent` and is published, in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Sum
from django.db.models.functions import Now

from apps.episodes.models import Episode
from apps.jobs.books.lost import book_lost
from apps.jobs.books.reading import books_at_the_end
from apps.jobs.models import EpisodeBooks, Job, JobEvent, Shard
from apps.live import publish
from apps.queue import enqueue

MAX_WAKE_UPS = 16
"""Messages about one job at most. Each worker that gets one continues until no shard is left."""


def lock_shards(job_id: str) -> None:
    """Lock all shards of a job. Every writer locks them in the same order."""
    list(Shard.objects.select_for_update().filter(job=job_id).order_by("pk").values_list("pk"))


def drop_open_shards(job_id: str, state: Job.State = Job.State.CANCELLED) -> None:
    """Cancel the shards of a job that are not over, which the caller has locked. Their workers lose the lease.

    Args:
        state: their state from now on: `cancelled`, or `decided` if they are not needed any more.
    """
    open_states = [Shard.State.QUEUED, Shard.State.RUNNING, Shard.State.PAUSED]
    Shard.objects.filter(job=job_id, state__in=open_states).release(state=state)
    book_lost(job_id)


def end(job_id: str, state: Job.State, reason: str, text: str, tone: JobEvent.Tone = JobEvent.Tone.PLAIN) -> bool:
    """Move a job to its last state. Returns False if the job had ended before."""
    updated = Job.objects.unfinished().filter(pk=job_id).update(state=state, reason=reason, ended=Now())
    if updated:
        latest = Job.objects.values_list("latest", flat=True).get(pk=job_id)
        data = {"state": state.value, "reason": reason, "result": _sums(job_id), "latest": latest}
        data["cut_off"] = _without_budget(job_id) if state == Job.State.STOPPED else _under_way(job_id)
        change(job_id, JobEvent.Kind.ENDED, text, tone=tone, data=data)
    return bool(updated)


def _sums(job_id: str) -> dict[str, Any]:
    """The sums over the shards of a job and its books, as its last event keeps them."""
    names = ("done", "won", "limited", "errors", "unanswered", "return_sum")
    books = books_at_the_end(job_id)
    tokens = {"tokens_in": books.tokens_in, "tokens_out": books.tokens_out, "tokens_estimated": books.estimated}
    return Shard.objects.filter(job=job_id).aggregate(**{name: Sum(name, default=0) for name in names}) | tokens


def _under_way(job_id: str) -> int:
    """How many episodes of an evaluation are being played: those of running shards, as many as are played at a time."""
    job = Job.objects.only("kind", "spec").get(pk=job_id)
    if job.kind != Job.Kind.EVALUATION:
        return 0
    most = int(job.spec.get("num_envs", 1))
    running = Shard.objects.filter(job=job_id, state=Shard.State.RUNNING).values_list("count", "done")
    return sum(min(count - done, most) for count, done in running)


def _without_budget(job_id: str) -> int:
    """How many episodes of an evaluation had begun, and have no result because its budget was used up."""
    batch = Job.objects.filter(pk=job_id, kind=Job.Kind.EVALUATION).values("batch")
    ended = Episode.objects.filter(batch__in=batch, slot__isnull=False).values("slot")
    return EpisodeBooks.objects.filter(job=job_id).exclude(slot__in=ended).values("slot").distinct().count()


def change(
    job_id: str,
    kind: JobEvent.Kind,
    text: str,
    *,
    tone: JobEvent.Tone = JobEvent.Tone.PLAIN,
    slots: Sequence[int] = (),
    data: Mapping[str, Any] | None = None,
) -> int:
    """Raise the job's `seq`, store an event that says why, and publish it to the pages that watch the job.

    `data` is what programs that follow the job read besides the text. It contains no names of people. Returns the new
    `seq`.
    """
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_job SET seq = seq + 1 WHERE id = %s RETURNING seq, episodes_done", [job_id])
        seq, done = cursor.fetchone()
    JobEvent.objects.create(
        job_id=job_id, seq=seq, kind=kind, tone=tone, text=text, slots=list(slots), data={"done": done, **(data or {})}
    )
    publish(f"job:{job_id}", seq)
    return int(seq)


def note_moderation(episode: Episode) -> None:
    """Note that administrators hide an episode or show it again: what is kept of its job's results is outdated."""
    job_id = Job.objects.filter(batch=episode.batch_id or "").values_list("pk", flat=True).first()
    if job_id is not None:
        change(job_id, JobEvent.Kind.CHANGED, "administrators have changed which of its episodes are shown")


TASKS = {Job.Kind.EVALUATION.value: "evaluate.shards", Job.Kind.TRAINING.value: "train.run"}


def wake(job_id: str, messages: int = 1, kind: str = "") -> None:
    """Send workers up to `messages` messages that the job has work for them. The caller may know its kind."""
    task = TASKS[kind or Job.objects.values_list("kind", flat=True).get(pk=job_id)]
    for _ in range(min(messages, MAX_WAKE_UPS)):
        enqueue(task, job_id)
