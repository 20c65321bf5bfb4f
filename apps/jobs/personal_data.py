"""The jobs of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F, Value
from django.db.models.functions import Left, Length

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line, stop_each, tombstone
from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode
from apps.jobs.changes import drop_open_shards, end, lock_shards
from apps.jobs.models import Job, JobEvent
from apps.leases import patient_transaction
from apps.play.personal_data import delete_in_chunks, lines_of
from apps.visibility import Visibility
from apps.zips import ExportedFile


def _export(user: User) -> Iterator[ExportedFile]:
    jobs = Job.objects.filter(owner=user).select_related("agent", "batch").order_by("created")
    yield ExportedFile("jobs.jsonl", (as_line(_described(job, user)) for job in jobs))
    for job in jobs:
        yield ExportedFile(
            f"jobs/{job.pk}/episodes.jsonl", lines_of(Episode.objects.opened().filter(batch=job.batch_id), user)
        )


def _described(job: Job, user: User) -> dict[str, object]:
    """A job, with the set-up of its agent if the person may open the agent."""
    names = (
        "id",
        "kind",
        "name",
        "notes",
        "tags",
        "group",
        "priority",
        "spec",
        "state",
        "reason",
        "created",
        "started",
        "ended",
        "hidden_reason",
        "visibility",
    )
    return {
        **{name: getattr(job, name) for name in names},
        "agent": job.agent.slug,
        "set_up": job.set_up if Agent.objects.visible_to(user).filter(pk=job.agent_id).exists() else None,
        "shards": list(
            job.shards.values("number", "env_id", "first_seed", "count", "done", "won", "errors", "return_sum", "state")
        ),
        "events": list(job.events.values("seq", "kind", "text", "at")),
    }


def _stop(user: User) -> None:
    """Cancel all jobs of a person."""
    stop_each(Job.objects.unfinished().filter(owner=user).order_by("pk").values_list("pk", flat=True), _cancel)


def _cancel(job_id: str) -> None:
    lock_shards(job_id)
    if end(job_id, Job.State.CANCELLED, "", "cancelled, because the account was deleted"):
        drop_open_shards(job_id)


def _forget_name(user: User) -> None:
    """Leave the person's name out of what jobs say about themselves; administrators change those of others too."""
    by_name = f" by {user.former_name}"
    kept = Left("text", Length(F("text")) - Value(len(by_name)))
    with patient_transaction():
        JobEvent.objects.filter(text__endswith=by_name).update(text=kept)
        User.objects.filter(pk=user.pk).update(first_name="")


def _erase(user: User) -> Iterator[None]:
    """Delete all jobs, except for public ones that rows of the leaderboard rest on: these have no name any more."""
    if user.former_name:
        _forget_name(user)
        yield
    public = Job.objects.filter(owner=user, batch__visibility=Visibility.PUBLIC)
    ranked = public.filter(scores__isnull=False).values("pk")
    with patient_transaction():
        kept = Job.objects.filter(pk__in=ranked).update(
            owner=tombstone(), name="", notes="", tags=[], idempotency_key=""
        )
    if kept:
        yield
    for job in Job.objects.filter(owner=user):
        yield from delete_in_chunks(Episode.objects.filter(batch=job.batch_id))
        with patient_transaction():
            job.delete()
            Batch.objects.filter(pk=job.batch_id).delete()
        yield


PART = PersonalData(
    export=_export,
    stop=_stop,
    erase=_erase,
    goes=("your evaluations and trainings, which are cancelled first, with their episodes and results",),
    stays=(
        "public evaluations that rows of the leaderboard rest on, with their episodes: "
        "their owner is a deleted account",
    ),
)
