"""Where the events of webhooks come from: a person's jobs, live episodes and duels, each with its stream of events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.accounts.models import User
from apps.episodes.models import Batch, Episode
from apps.jobs.models import Job
from apps.live.feed import BEGINNING
from apps.live.streams import STREAMS
from apps.visibility import VisibleQuerySet
from apps.webhooks.models import Place, Webhook

REMEMBERED = timedelta(days=2)
"""How long a webhook remembers that it has read an episode or a duel that is over; deliveries are given up earlier."""


class Source(ABC):
    """The rows of one kind that a person has, and which of them a webhook has yet to read."""

    topic: ClassVar[str]
    """That of their stream (`apps.live.streams`)."""
    prefixes: ClassVar[tuple[str, ...]]
    """The beginnings of the names of their events."""

    def is_chosen(self, names: Iterable[str]) -> bool:
        """Whether one of these events comes from here."""
        return any(name.startswith(self.prefixes) for name in names)

    @abstractmethod
    def visible(self, owner: User, keys: Iterable[str]) -> list[str]:
        """Those of these rows that the person may see."""

    @abstractmethod
    def changed(self, webhook: Webhook, most: int) -> list[tuple[str, int]]:
        """Rows of the owner with changes that the webhook has not read, and the `seq` up to which it has read each."""

    @abstractmethod
    def begin(self, webhook: Webhook) -> None:
        """Let the webhook send what happens from now on."""

    @abstractmethod
    def end(self, webhook: Webhook) -> None:
        """Read these rows no more for this webhook. What waits is sent."""

    def _places(self, webhook: Webhook) -> QuerySet[Place]:
        return Place.objects.filter(webhook=webhook, topic=self.topic)


class Jobs(Source):
    """Evaluations and trainings. How far each was read is kept for good, since they may go on after their end."""

    topic = "job"
    prefixes = ("job.", "training.")

    def visible(self, owner: User, keys: Iterable[str]) -> list[str]:
        """See `Source.visible`."""
        return list(Job.objects.visible_to(owner).filter(pk__in=set(keys)).values_list("pk", flat=True))

    def changed(self, webhook: Webhook, most: int) -> list[tuple[str, int]]:
        """See `Source.changed`."""
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT job.id, coalesce(place.seq, 0) FROM jobs_job job
                LEFT JOIN webhooks_place place
                    ON place.webhook_id = %s AND place.topic = %s AND place.key = job.id
                WHERE job.owner_id = %s AND job.seq > coalesce(place.seq, 0)
                ORDER BY job.created LIMIT %s
                """,
                [webhook.pk, self.topic, webhook.owner_id, most],
            )
            return [(row[0], row[1]) for row in cursor.fetchall()]

    def begin(self, webhook: Webhook) -> None:
        """See `Source.begin`."""
        with connection.cursor() as cursor:
            cursor.execute(
                """
                INSERT INTO webhooks_place (webhook_id, topic, key, seq, is_over, read)
                SELECT %s, %s, id, seq, false, now() FROM jobs_job WHERE owner_id = %s
                ON CONFLICT (webhook_id, topic, key) DO UPDATE SET seq = excluded.seq
                """,
                [webhook.pk, self.topic, webhook.owner_id],
            )

    def end(self, webhook: Webhook) -> None:
        """See `Source.end`. Where it has read to is of no use: it begins anew when such events are chosen again."""
        self._places(webhook).delete()


class RecentRows(Source):
    """Rows of which there may be very many: those that were running when the webhook began, or were begun since."""

    ends: ClassVar[bool]
    """Whether a row that is over never goes on."""
    since: ClassVar[str]
    """The field of a webhook that says since when."""

    @property
    @abstractmethod
    def rows(self) -> VisibleQuerySet[Any]:
        """All rows of the kind."""

    @abstractmethod
    def own(self, owner: User) -> VisibleQuerySet[Any]:
        """The rows of a person."""

    @abstractmethod
    def running(self) -> Q:
        """A filter of the rows that are not over."""

    def visible(self, owner: User, keys: Iterable[str]) -> list[str]:
        """See `Source.visible`."""
        return list(self.rows.visible_to(owner).filter(pk__in=set(keys)).values_list("pk", flat=True))

    def changed(self, webhook: Webhook, most: int) -> list[tuple[str, int]]:
        """See `Source.changed`."""
        since: datetime | None = getattr(webhook, self.since)
        if since is None:
            return []
        place = self._places(webhook).filter(key=OuterRef("pk"))
        own = self.own(webhook.owner)
        begun = own.filter(~Exists(place), created__gte=since).order_by("created").values_list("pk", flat=True)[:most]
        places = self._places(webhook).filter(is_over=False) if self.ends else self._places(webhook)
        read = {one.key: one for one in places}
        rows = own.filter(pk__in=list(read)).annotate(is_running=self.running())
        changed = [
            (key, read[key].seq)
            for key, seq, is_running in rows.values_list("pk", "seq", "is_running")
            if seq > read[key].seq or not (is_running or read[key].is_over)
        ]
        return [*changed, *((key, BEGINNING) for key in begun)][:most]

    def begin(self, webhook: Webhook) -> None:
        """See `Source.begin`."""
        since = timezone.now()  # before the running rows are read, so that none begins in between
        self._places(webhook).delete()
        stream = STREAMS[self.topic]
        running = self.own(webhook.owner).filter(self.running()).values_list("pk", flat=True)
        Place.objects.bulk_create(
            [Place(webhook=webhook, topic=self.topic, key=key, seq=stream.reach(key)[0]) for key in running]
        )
        Webhook.objects.filter(pk=webhook.pk).update(**{self.since: since})

    def end(self, webhook: Webhook) -> None:
        """See `Source.end`."""
        self._places(webhook).delete()
        Webhook.objects.filter(pk=webhook.pk).update(**{self.since: None})

    def forget(self) -> None:
        """Forget what was read long ago and is over. None of it is read again, because it began earlier."""
        before = timezone.now() - REMEMBERED
        Webhook.objects.filter(**{f"{self.since}__lt": before}).update(**{self.since: before})
        Place.objects.filter(topic=self.topic, read__lt=before, is_over=True).delete()


class Episodes(RecentRows):
    """Live episodes of a person: those they play, and those of agents that they started. Those of jobs have events of
    their own."""

    topic = "episode"
    prefixes = ("episode.",)
    ends = True
    since = "episodes_since"

    @property
    def rows(self) -> VisibleQuerySet[Any]:
        """See `RecentRows.rows`."""
        return Episode.objects.all()

    def own(self, owner: User) -> VisibleQuerySet[Any]:
        """See `RecentRows.own`."""
        return Episode.objects.owned_outside_jobs(owner, "")

    def running(self) -> Q:
        """See `RecentRows.running`."""
        return Q(status=Episode.Status.RUNNING)


class Duels(RecentRows):
    """Duels with an episode of the person. One that is over goes on if an agent joins it."""

    topic = "duel"
    prefixes = ("duel.",)
    ends = False
    since = "duels_since"

    @property
    def rows(self) -> VisibleQuerySet[Any]:
        """See `RecentRows.rows`."""
        return Batch.objects.filter(kind=Batch.Kind.DUEL)

    def own(self, owner: User) -> VisibleQuerySet[Any]:
        """See `RecentRows.own`."""
        return self.rows.owned(owner)

    def running(self) -> Q:
        """See `RecentRows.running`."""
        return Q(Exists(Episode.objects.running().filter(batch=OuterRef("pk"))))


SOURCES: dict[str, Source] = {source.topic: source for source in (Jobs(), Episodes(), Duels())}
"""The sources by topic."""


def forget() -> None:
    """Forget what webhooks have read long ago, where it cannot go on."""
    for source in SOURCES.values():
        if isinstance(source, RecentRows):
            source.forget()
