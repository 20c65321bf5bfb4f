"""Verification of an episode: at once if its environment is fast, by a worker if it is slow.

People whose episodes wait for a worker are served in turn. A worker's verdict stays in the cache for an hour. Postgres
does not store it, because it can be computed again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import uuid4

import redis
from django.core.cache import cache
from django.db.models.functions import Now

from apps.admission.line import Line, rows
from apps.episodes import operations
from apps.episodes.models import Episode, PendingVerification
from apps.leases import LeasedQuerySet
from apps.queue import enqueue
from gem.errors import GemError

TASK = "verify.episode"
KEPT_SECONDS = 3600
"""How long a worker's verdict can be read."""
WAKE_SECONDS = 30
"""How long after a message to the workers the button sends none for the same episode."""
_LINE = Line("verify", per_person=2, per_address=4)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a replay is identical to its record."""

    holds: bool | None
    """None if this is not known, or not yet."""
    sentence: str = ""
    is_waiting: bool = False
    """Whether a worker has been asked and has not answered."""
    place: int | None = None
    """Its place in the queue, from 1; None if it does not wait there."""


NO_ANSWER = Verdict(None, "No worker has answered. Press Verify again, or download the episode and replay it yourself.")


def verify(episode: Episode, person: str, address: str) -> Verdict:
    """Replay a fast episode now; for a slow one, wake a worker and return what is known.

    Args:
        person: in whose queue it waits (`apps.admission.models.name_of`).
        address: the hashed IP address of a person without an account.
    """
    if not episode.slow:
        return _compute(episode)
    try:
        if cache.get(_key(episode)) is None and cache.add(f"verify:{episode.pk}", 1, WAKE_SECONDS):
            waits = {"person": person, "address": address}
            PendingVerification.objects.get_or_create(episode=episode, defaults=waits)
            enqueue(TASK, episode.pk)
        return latest(episode)
    except redis.RedisError:
        return NO_ANSWER


def latest(episode: Episode) -> Verdict:
    """What a worker has found, or that it has not answered yet."""
    if stored := cache.get(_key(episode)):
        return Verdict(**stored)
    if not PendingVerification.objects.filter(pk=episode.pk).exists():
        return NO_ANSWER
    place = _LINE.place(_rows(PendingVerification.objects.free()), _busy(), episode.pk)
    return Verdict(None, is_waiting=True, place=place)


def answer_next() -> bool:
    """Verify the episode whose turn it is, in a worker. Returns whether there was one."""
    PendingVerification.objects.worn().delete()  # all workers that tried it have died
    claimed = _LINE.claim(_rows(PendingVerification.objects.claimable()), _busy(), uuid4(), 1)
    for episode in Episode.objects.filter(pk__in=claimed):
        cache.set(_key(episode), asdict(_compute(episode)), KEPT_SECONDS)
        PendingVerification.objects.filter(pk=episode.pk).delete()
    return bool(claimed)


def _rows(waiting: LeasedQuerySet[PendingVerification]) -> LeasedQuerySet[PendingVerification]:
    return rows(waiting, since="created")


def _busy() -> LeasedQuerySet[PendingVerification]:
    """The episodes that workers replay now."""
    return _rows(PendingVerification.objects.filter(lease_until__gt=Now()))


def _compute(episode: Episode) -> Verdict:
    try:
        difference = operations.verify(episode)
    except GemError as error:
        return Verdict(False, str(error))
    return Verdict(difference is None, difference.sentence if difference else "")


def _key(episode: Episode) -> str:
    return f"verdict:{episode.pk}:{episode.seq}"
