"""Questions about an episode that a worker answers, because the answer takes long to compute.

Whoever asks waits in a line, in which people are served in turn. The answer stays in the cache, because it can be
computed again; Postgres holds only who waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.core.cache import cache
from django.db.models.functions import Now

from apps.admission.line import Line, rows
from apps.episodes.models import Episode, PendingMistakes, PendingVerification
from apps.faults import infrastructure_fault
from apps.holders import new_token
from apps.leases import Heartbeat, LeasedQuerySet
from apps.queue import enqueue
from gem.errors import failure_of

logger = logging.getLogger(__name__)

WAKE_SECONDS = 30
"""How long after a message to the workers the button sends none for the same episode."""


def failure_in(error: Exception, episode: Episode) -> str:
    """How the environment of an episode has failed, as a sentence.

    Raises:
        Exception: the error itself, if it is none of the environment, but for example of the database.
    """
    if infrastructure_fault(error) is not None:
        raise error
    logger.exception("The environment of episode %s failed when it was executed again", episode.pk, exc_info=error)
    return f"The environment failed when it was executed again: {failure_of(error, 'environment').message}."


def wake_if_late(task: str, waiting: LeasedQuerySet[Any]) -> bool:
    """Wake a worker if one of these rows has waited for longer than a lease lasts. Returns whether one has.

    Its message was lost, or its worker. The worker that is woken goes on until none waits.
    """
    late = waiting.free().filter(created__lt=Now() - timedelta(seconds=settings.LEASE_SECONDS))
    first = late.order_by("created").first()
    if first is not None:
        enqueue(task, first.pk)
    return first is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of a question."""

    found: dict[str, Any] | None = None
    """The answer; None if there is none yet."""
    is_waiting: bool = False
    """Whether a worker has been asked and has not answered."""
    place: int | None = None
    """Its place in the queue, from 1; None if it does not wait there."""


@dataclass(frozen=True, slots=True)
class Question:
    """One kind of question: where it waits, and how it is answered."""

    name: str
    """Names its line, and the keys of its answers in the cache."""
    task: str
    """The task that wakes a worker."""
    waiting: type[PendingVerification | PendingMistakes]
    """The model of the episodes that wait, with `episode` as the key and `created`."""
    compute: Callable[[Episode], dict[str, Any]]
    kept_seconds: int
    """How long an answer can be read."""

    @property
    def line(self) -> Line:
        """The line of all who ask."""
        return Line(self.name, per_person=2, per_address=4)

    def ask(self, episode: Episode, person: str, address: str) -> Answer:
        """Wake a worker unless the answer is known, and return what is known.

        Args:
            person: in whose queue it waits (`apps.admission.models.name_of`).
            address: the hashed IP address of a person without an account.
        """
        try:
            if cache.get(self._key(episode)) is None and cache.add(f"{self.name}:{episode.pk}", 1, WAKE_SECONDS):
                waits = {"person": person, "address": address}
                self.waiting.objects.get_or_create(episode=episode, defaults=waits)
                enqueue(self.task, episode.pk)
            return self.latest(episode)
        except redis.RedisError:
            return Answer()

    def latest(self, episode: Episode) -> Answer:
        """The answer, or that no worker has given one yet."""
        if found := cache.get(self._key(episode)):
            return Answer(found)
        if not self._all().filter(pk=episode.pk).exists():
            return Answer()
        place = self.line.place(self._rows(self._all().free()), self._busy(), episode.pk)
        return Answer(is_waiting=True, place=place)

    def answer_next(self) -> bool:
        """Answer about the episode whose turn it is, in a worker. Returns whether there was one."""
        self._all().worn().delete()  # all workers that tried it have died
        token = new_token()
        claimed = self.line.claim(self._rows(self._all().claimable()), self._busy(), token, 1)
        for episode in Episode.objects.filter(pk__in=claimed):
            with Heartbeat(self._all().owned_by(token).renew, name=f"{self.name} of {episode.pk}"):
                found = self.compute(episode)
            cache.set(self._key(episode), found, self.kept_seconds)
            self._all().filter(pk=episode.pk).delete()
        return bool(claimed)

    def wake_worker(self) -> bool:
        """See `wake_if_late`."""
        return wake_if_late(self.task, self._all())

    def _all(self) -> LeasedQuerySet[Any]:
        return self.waiting.objects.all()

    def _busy(self) -> LeasedQuerySet[Any]:
        """The episodes about which workers compute now."""
        return self._rows(self._all().filter(lease_until__gt=Now()))

    @staticmethod
    def _rows(waiting: LeasedQuerySet[Any]) -> LeasedQuerySet[Any]:
        return rows(waiting, since="created")

    def _key(self, episode: Episode) -> str:
        return f"{self.name}-answer:{episode.pk}:{episode.seq}"
