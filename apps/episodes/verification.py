"""Verification of an episode: at once if its environment is fast, by a worker if it is slow.

A worker's verdict stays in the cache for an hour. Postgres does not store it, because it can be computed again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import redis
from django.core.cache import cache

from apps.episodes import operations
from apps.episodes.models import Episode
from apps.queue import enqueue
from gem.errors import GemError

TASK = "verify.episode"
KEPT_SECONDS = 3600
"""How long a worker's verdict can be read."""
WAITING_SECONDS = 180
"""How long a page waits for a worker before it offers the button again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a replay is identical to its record."""

    holds: bool | None
    """None if this is not known, or not yet."""
    sentence: str = ""
    is_waiting: bool = False
    """Whether a worker has been asked and has not answered."""


NO_ANSWER = Verdict(None, "No worker has answered. Press Verify again, or download the episode and replay it yourself.")


def verify(episode: Episode) -> Verdict:
    """Replay a fast episode now; for a slow one, wake a worker and return what is known."""
    if not episode.slow:
        return _compute(episode)
    try:
        if cache.add(_key(episode), asdict(Verdict(None, is_waiting=True)), WAITING_SECONDS):
            enqueue(TASK, episode.pk)
        return latest(episode)
    except redis.RedisError:
        return NO_ANSWER


def latest(episode: Episode) -> Verdict:
    """What a worker has found, or that it has not answered yet."""
    stored = cache.get(_key(episode))
    return Verdict(**stored) if stored else NO_ANSWER


def answer(episode_id: str) -> None:
    """Verify an episode in a worker, unless another one has done so already."""
    episode = Episode.objects.filter(pk=episode_id).first()
    if episode is not None and latest(episode).is_waiting:
        cache.set(_key(episode), asdict(_compute(episode)), KEPT_SECONDS)


def _compute(episode: Episode) -> Verdict:
    try:
        difference = operations.verify(episode)
    except GemError as error:
        return Verdict(False, str(error))
    return Verdict(difference is None, difference.sentence if difference else "")


def _key(episode: Episode) -> str:
    return f"verdict:{episode.pk}:{episode.seq}"
