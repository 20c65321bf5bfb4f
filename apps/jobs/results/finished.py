"""The finished episodes of a job: the latest ones, those that were not counted, and pages of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from apps.episodes.lists.paging import page_number
from apps.episodes.models import Episode
from apps.episodes.ranked.closing import conceal
from apps.jobs.models import Job
from apps.jobs.results.grid import OUTCOME
from apps.jobs.results.tallies import Tally

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
    rows = conceal(finished(job).filter(slot__in=slots[:count]), closed=job.is_closed)
    by_slot = {episode.slot: episode for episode in rows}
    return [by_slot[slot] for slot in slots[:count] if slot in by_slot]


def slots_of(job: Job, env_id: str = "", ending: str = "", seed: int | None = None) -> QuerySet[Episode, int | None]:
    """The slots of the job's finished episodes, of one environment, outcome and seed if these are given."""
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False).order_by("slot")
    if env_id:
        shards = [shard for shard in job.shards.all() if shard.env_id == env_id]
        first = min((shard.first_slot for shard in shards), default=0)
        last = max((shard.first_slot + shard.count for shard in shards), default=0)
        episodes = episodes.filter(slot__gte=first, slot__lt=last)
    if ending:
        episodes = episodes.filter(ENDINGS[ending])
    if seed is not None:
        episodes = episodes.filter(seed=seed)
    return episodes.values_list("slot", flat=True)


def replaced(job: Job, *, hidden: bool = False) -> QuerySet[Episode]:
    """The episodes that were not counted and were played again, the newest first, annotated as those of `finished`.

    They have no slot any more.
    """
    episodes = Episode.objects.filter(batch=job.batch_id, slot=None, seats__number=F("scored_seat"))
    if not hidden:
        episodes = episodes.filter(hidden_reason="")
    return episodes.annotate(ending=OUTCOME, reached=F("seats__total_reward")).order_by("-ended", "pk")


def failed(job: Job, count: int) -> list[Episode]:
    """The last of the job's episodes that were not counted, the last first."""
    return conceal(finished(job).filter(status="failed").order_by("-slot")[:count], closed=job.is_closed)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the finished episodes of a job, by slot. Links name slots, so a deep page costs as much as the first.

    The addresses with a number that earlier versions linked to (`?page=7`) still lead to that page, or to `MAX_PAGE`.
    """

    rows: list[Episode]
    before: int | None
    """The slot before which the previous page ends; None on the first page."""
    after: int | None
    """The slot after which the next page begins; None on the last page."""


def page_of(
    job: Job,
    asked: Mapping[str, str],
    size: int,
    *,
    env_id: str = "",
    ending: str = "",
    seed: int | None = None,
    hidden: bool = False,
) -> Page:
    """The page that an address asks for by `after`, `before` or `page`; the first page otherwise.

    Args:
        asked: the parameters of the address.
        size: episodes on a page.
        env_id: only episodes of this environment; empty for all.
        ending: only episodes with this outcome; empty for all.
        seed: only episodes with this seed; None for all.
        hidden: see `finished`.
    """
    matches = slots_of(job, env_id, ending, seed)
    if (before := _slot(asked.get("before", ""))) is not None:
        slots = list(matches.filter(slot__lt=before).order_by("-slot")[: size + 1])
        if len(slots) > size:
            return _page(job, slots[size - 1 :: -1], is_first=False, is_last=False, hidden=hidden)
        slots = list(matches[: size + 1])  # fewer come before than fit on the first page
        return _page(job, slots[:size], is_first=True, is_last=len(slots) <= size, hidden=hidden)
    start = 0
    if (after := _slot(asked.get("after", ""))) is not None:
        matches = matches.filter(slot__gt=after)
    else:
        start = (page_number(asked.get("page", "")) - 1) * size
    slots = list(matches[start : start + size + 1])
    if not slots and (start or after is not None):
        last = list(slots_of(job, env_id, ending, seed).order_by("-slot")[: size + 1])
        return _page(job, last[:size][::-1], is_first=len(last) <= size, is_last=True, hidden=hidden)
    is_first = not start and after is None
    return _page(job, slots[:size], is_first=is_first, is_last=len(slots) <= size, hidden=hidden)


def page_of_replaced(job: Job, size: int, *, env_id: str = "", hidden: bool = False) -> Page:
    """The newest of the episodes that a retry replaced; the API exports all episodes."""
    rows = replaced(job, hidden=hidden)
    chosen = (rows.filter(env_id=env_id) if env_id else rows)[:size]
    return Page(conceal(chosen, closed=job.is_closed), before=None, after=None)


def _page(job: Job, slots: Sequence[int | None], *, is_first: bool, is_last: bool, hidden: bool) -> Page:
    rows = conceal(finished(job, hidden=hidden).filter(slot__in=slots), closed=job.is_closed)
    before, after = (slots[0], slots[-1]) if slots else (None, None)
    return Page(rows, before=None if is_first else before, after=None if is_last else after)


def seed_of(text: str) -> int | None:
    """The seed that an address names; None if it is none."""
    return int(text) if text.isascii() and text.lstrip("-").isdecimal() and len(text) < 19 else None


def _slot(text: str) -> int | None:
    """The slot that an address names; None if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def count(job: Job, env_id: str = "", ending: str = "") -> int:
    """The number of finished episodes, hidden ones included, which the shards know."""
    tally = Tally.of(shard for shard in job.shards.all() if not env_id or shard.env_id == env_id)
    counts = {"won": tally.won, "lost": tally.lost, "limit": tally.limited, "error": tally.errors}
    return counts.get(ending, tally.done)
