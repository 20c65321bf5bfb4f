"""The event stream of a job: its log, with what programs need besides the texts.

`JobEvent` keeps one row for each change. What it does not keep follows from rows that do not change any more, such as
finished episodes. The events of trainings are made by their own app (`KindOfJob.publish`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from apps.accounts.models import Viewer
from apps.episodes.models import Episode
from apps.episodes.ranked.closing import conceal
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job, JobEvent
from apps.jobs.results.finished import finished, replaced
from apps.live.feed import Reading
from apps.live.streams import MAX_EVENTS, Collected
from gem.client import events
from gem.client.events import Event

MAX_EPISODES = 2000
"""Finished episodes that are read at once."""
Kind = JobEvent.Kind
Slots = dict[int | None, Episode]


class JobStream:
    """Everybody who may see a job reads the same."""

    def has(self, key: str, kind: str) -> bool:
        """See `Stream.has`."""
        jobs = Job.objects.filter(pk=key)
        return (jobs.filter(kind=kind) if kind else jobs).exists()

    def audience_of(self, key: str, viewer: Viewer, visitor: str) -> str:
        """See `Stream.audience_of`."""
        return "other"

    def reach(self, key: str) -> tuple[int, bool]:
        """See `Stream.reach`."""
        job = Job.objects.get(pk=key)
        return job.seq, job.over

    def read(self, key: str, after: int, audience: str) -> Reading:
        """See `Stream.read`."""
        job = Job.objects.select_related("agent").filter(pk=key).first()
        if job is None:
            return Reading([], after, after)
        rows = _first_of(JobEvent.objects.filter(job=key, seq__gt=after).order_by("seq")[:MAX_EVENTS])
        collected = Collected(after)
        collected.add_until_full(kind_of(job).publish(job, rows))
        is_complete = not rows or (rows[-1].seq >= job.seq and not collected.is_full)
        return Reading(collected.messages, job.seq if is_complete else collected.upto, job.seq, job.over)


def _first_of(rows: Iterable[JobEvent]) -> list[JobEvent]:
    """The first of these rows, at least one, with not too many finished episodes together."""
    chosen: list[JobEvent] = []
    episodes = 0
    for row in rows:
        episodes += len(row.slots)
        if chosen and episodes > MAX_EPISODES:
            break
        chosen.append(row)
    return chosen


def evaluation_events(job: Job, rows: Sequence[JobEvent]) -> Iterable[Event]:
    """The events of an evaluation that these rows stand for."""
    slots = [slot for row in rows for slot in row.slots]
    recorded = conceal(finished(job).filter(slot__in=slots), closed=job.is_closed) if slots else []
    by_slot = {episode.slot: episode for episode in recorded}
    retried = _replaced(job, rows[0].seq) if slots else []
    for row in rows:
        model, more = _MODELS.get(Kind(row.kind), (events.JobNoted, nothing))
        at_that_time = {**by_slot, **_first_by_slot(earlier for seq, earlier in retried if seq > row.seq)}
        yield model.model_validate({"job": job.pk, **line(row), **more(job, row, at_that_time)})


def _replaced(job: Job, after: int) -> list[tuple[int, Slots]]:
    """The episodes that were played again after this change, by the changes that ordered it, in their order."""
    retried = job.events.filter(kind=Kind.RETRIED, seq__gt=after).order_by("seq")
    changes = [(row.seq, row.data.get("replaced", {})) for row in retried]
    ids = {key for _, by_slot in changes for key in by_slot.values()}
    by_id = {episode.pk: episode for episode in replaced(job).filter(pk__in=ids)} if ids else {}
    return [(seq, {int(slot): by_id[key] for slot, key in by_slot.items() if key in by_id}) for seq, by_slot in changes]


def _first_by_slot(changes: Iterable[Slots]) -> Slots:
    """The episode of each slot in the first of these changes that has it."""
    first: Slots = {}
    for by_slot in changes:
        first = {**by_slot, **first}
    return first


def line(row: JobEvent) -> dict[str, Any]:
    """The fields that every event of a job or a training has."""
    return {"seq": row.seq, "at": row.at, "text": row.text, "tone": row.tone}


def nothing(job: Job, row: JobEvent, context: object) -> dict[str, Any]:
    """No further field."""
    return {}


def reason(job: Job, row: JobEvent, context: object) -> dict[str, Any]:
    """The further fields of `gem.client.events.Reasoned`."""
    return {"reason": row.data.get("reason", "")}


More = Callable[[Job, JobEvent, Slots], dict[str, Any]]


def _queued(job: Job, row: JobEvent, by_slot: Slots) -> dict[str, Any]:
    env_ids = list(dict.fromkeys(shard.env_id for shard in job.shards.all()))
    return {"env_ids": env_ids, "agent": job.agent.slug, "episodes_total": job.episodes_total}


def _started(job: Job, row: JobEvent, by_slot: Slots) -> dict[str, Any]:
    return {name: row.data.get(name) for name in ("shard", "env_id", "episodes", "attempt")}


def _episodes(job: Job, row: JobEvent, by_slot: Slots) -> dict[str, Any]:
    recorded = [{**_finished(by_slot[slot]), "slot": slot} for slot in row.slots if slot in by_slot]
    return {"episodes": recorded, "done": row.data.get("done"), "total": job.episodes_total}


def _finished(episode: Episode) -> dict[str, Any]:
    return {
        "id": episode.pk,
        "env_id": episode.env_id,
        "seed": episode.seed,
        "outcome": episode.outcome,
        "total_reward": episode.reached,  # type: ignore[attr-defined]  # annotated by `finished`
        "turn_count": episode.turn_count,
        "failure": episode.failure,
    }


def _requeued(job: Job, row: JobEvent, by_slot: Slots) -> dict[str, Any]:
    return {"shard": row.data.get("shard"), **reason(job, row, by_slot)}


def _ended(job: Job, row: JobEvent, by_slot: Slots) -> dict[str, Any]:
    return {"state": row.data.get("state"), "result": _sums(row.data.get("result")), **reason(job, row, by_slot)}


def _sums(stored: dict[str, Any] | None) -> dict[str, Any] | None:
    if stored is None:
        return None
    counted = stored["done"] - stored["errors"]
    return {**stored, "counted": counted, "mean_return": stored["return_sum"] / counted if counted else None}


_MODELS: dict[Kind, tuple[type[Event], More]] = {
    Kind.SUBMITTED: (events.JobQueued, _queued),
    Kind.CLAIMED: (events.JobStarted, _started),
    Kind.EPISODES: (events.JobEpisodes, _episodes),
    Kind.REQUEUED: (events.JobShardRequeued, _requeued),
    Kind.PAUSED: (events.JobPaused, reason),
    Kind.RESUMED: (events.JobResumed, nothing),
    Kind.ENDED: (events.JobEnded, _ended),
}
"""The event of each kind of row, and the function of its further fields. Any other row is a line of the log."""
