"""The finished episodes of a job: the latest ones, those that were not counted, and pages of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from django.db.models import F, Q, QuerySet

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.jobs.results import OUTCOME, Tally

_NOT_SOLVED = Q(status=Episode.Status.ENDED) & (Q(success=False) | Q(success=None))
ENDINGS = {
    "won": Q(status=Episode.Status.ENDED, success=True),
    "lost": _NOT_SOLVED & Q(truncated=False),
    "limit": _NOT_SOLVED & Q(truncated=True),
    "error": Q(status=Episode.Status.FAILED),
}
"""The outcomes of finished episodes as filters, which can use an index."""


def finished(job: Job, *, hidden: bool = False) -> QuerySet[Episode]:
    """The job's finished episodes by slot, annotated with their outcome (`ending`) and return (`reached`).

    Args:
        hidden: whether to include those that administrators have hidden, for the job's owner and for staff.
    """
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False, seats__number=F("scored_seat"))
    if not hidden:
        episodes = episodes.filter(hidden_reason="")
    return episodes.annotate(ending=OUTCOME, reached=F("seats__total_reward")).order_by("slot")


def latest(job: Job, count: int) -> list[Episode]:
    """The episodes of the job that were recorded last, the last first."""
    slots: list[int] = []
    for recorded in job.events.exclude(slots=[]).order_by("-seq").values_list("slots", flat=True)[:count]:
        slots.extend(reversed(recorded))
        if len(slots) >= count:
            break
    slots = list(dict.fromkeys(slots))
    by_slot = {episode.slot: episode for episode in finished(job).filter(slot__in=slots[:count])}
    return [by_slot[slot] for slot in slots[:count] if slot in by_slot]


def slots_of(job: Job, env_id: str = "", ending: str = "") -> QuerySet[Episode, int | None]:
    """The slots of the job's finished episodes, of one environment and with one outcome if these are given."""
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False).order_by("slot")
    if env_id:
        shards = [shard for shard in job.shards.all() if shard.env_id == env_id]
        first = min((shard.first_slot for shard in shards), default=0)
        last = max((shard.first_slot + shard.count for shard in shards), default=0)
        episodes = episodes.filter(slot__gte=first, slot__lt=last)
    if ending:
        episodes = episodes.filter(ENDINGS[ending])
    return episodes.values_list("slot", flat=True)


def replaced(job: Job, *, hidden: bool = False) -> QuerySet[Episode]:
    """The episodes that were not counted and were played again, the newest first, annotated as those of `finished`.

    They have no slot any more.
    """
    episodes = Episode.objects.filter(batch=job.batch_id, slot=None, seats__number=F("scored_seat"))
    if not hidden:
        episodes = episodes.filter(hidden_reason="")
    return episodes.annotate(ending=OUTCOME, reached=F("seats__total_reward")).order_by("-ended", "pk")


class FinishedEpisodes(Sequence[Episode]):
    """The finished episodes of a job for a `Paginator`. Of the pages that are passed over, only the slots are read.

    Args:
        env_id: only episodes of this environment; empty for all.
        ending: only episodes with this outcome; empty for all.
        hidden: see `finished`. Hidden episodes are counted in any case.
    """

    def __init__(self, job: Job, env_id: str = "", ending: str = "", *, hidden: bool = False) -> None:
        self._job, self._ending, self._hidden = job, ending, hidden
        self._shards = [shard for shard in job.shards.all() if not env_id or shard.env_id == env_id]
        self._slots = slots_of(job, env_id, ending)

    def __len__(self) -> int:
        """Their number, which the shards know."""
        tally = Tally.of(self._shards)
        counts = {"won": tally.won, "lost": tally.lost, "limit": tally.limited, "error": tally.errors}
        return counts.get(self._ending, tally.done)

    @overload
    def __getitem__(self, place: int) -> Episode: ...

    @overload
    def __getitem__(self, place: slice) -> list[Episode]: ...

    def __getitem__(self, place: int | slice) -> Episode | list[Episode]:
        """The episodes of a page, or one of them."""
        window = place if isinstance(place, slice) else slice(place, place + 1)
        episodes = list(finished(self._job, hidden=self._hidden).filter(slot__in=list(self._slots[window])))
        return episodes if isinstance(place, slice) else episodes[0]
