"""Episodes of people with an account are written in batches, after their steps were answered.

About once a second the episodes that have ended are inserted with COPY, and those that are still being played are
announced as `UnwrittenEpisode`. A process that is killed loses the turns of at most that second and of what is being
played; `fail_lost` writes the announced ones as failed. Nothing here ranks: only jobs do.
"""

from __future__ import annotations

import asyncio
import logging
import platform
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone

import gem
from apps.agents.models import Agent
from apps.episodes.models import Episode, Seat
from apps.episodes.storing.bulk import PlayedEpisode, copy_played, make_ids
from apps.holders import new_token
from apps.live.threads import DatabaseThreads
from apps.openenv.models import UnwrittenEpisode
from apps.play.operations import human_agent
from apps.visibility import Visibility
from gem.records import EpisodeRecord

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 1.0
MAX_WAITING = 5000
"""Episodes that may wait to be written; then no other begins before some are."""
PER_TRANSACTION = 500
LEASE = timedelta(seconds=max(30.0, 3 * settings.LEASE_SECONDS))
LOST = "The server stopped before the episode was written. Its turns are not known."
IDS_AT_A_TIME = 256
in_thread = DatabaseThreads(1, "openenv-recorder").run


@dataclass(slots=True, eq=False)
class Underway:
    """An episode that is being played."""

    id: str
    record: EpisodeRecord
    user_id: int
    is_announced: bool = False


class Recorder:
    """Writes the episodes of this process."""

    def __init__(self) -> None:
        self._holder = new_token()
        self._playing: dict[str, Underway] = {}
        self._ended: list[tuple[Underway, PlayedEpisode]] = []
        self._ids: list[str] = []
        self._task: asyncio.Task[None] | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()

    @property
    def waiting(self) -> int:
        """How many episodes have ended and are not written yet."""
        return len(self._ended)

    async def room(self) -> None:
        """Wait while too many episodes wait to be written."""
        await self._has_room.wait()

    def draw_id(self) -> str:
        """An id for an episode that is about to begin."""
        if not self._ids:
            self._ids = make_ids(IDS_AT_A_TIME)
        return self._ids.pop()

    def begin(self, key: str, record: EpisodeRecord, user_id: int) -> Underway:
        """Record an episode that has begun, by an id of `draw_id`; `record` grows while it is played."""
        underway = Underway(key, record, user_id)
        self._playing[underway.id] = underway
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return underway

    def end(self, underway: Underway, *, is_given_up: bool) -> None:
        """Let an episode be written as it is."""
        del self._playing[underway.id]
        played = PlayedEpisode(underway.id, underway.record, underway.user_id, Visibility.PRIVATE, is_given_up)
        self._ended.append((underway, played))
        if len(self._ended) >= MAX_WAITING:
            self._has_room.clear()

    async def flush(self) -> None:
        """Write what has ended, and announce what is being played.

        Raises:
            DatabaseError: if the database cannot be reached; nothing is lost.
        """
        while self._ended:
            part = self._ended[:PER_TRANSACTION]
            await self._write(part)
            del self._ended[: len(part)]
            self._has_room.set()
        new = [underway for underway in self._playing.values() if not underway.is_announced]
        for underway in new:
            underway.is_announced = True
        try:
            await in_thread(_announce, self._holder, new)
        except DatabaseError:
            for underway in new:
                underway.is_announced = False
            raise

    async def _write(self, part: list[tuple[Underway, PlayedEpisode]]) -> None:
        """Write episodes together or, if one of them cannot be stored, one by one without that one."""
        try:
            await in_thread(_write, [played for _, played in part], [one.id for one, _ in part if one.is_announced])
        except (IntegrityError, DataError):
            if len(part) == 1:
                logger.warning("An episode of OpenEnv cannot be stored: its account is gone", exc_info=True)
                return
            for one in part:
                await self._write([one])

    async def close(self) -> None:
        """Write everything, and stop."""
        if self._task is not None:
            self._task.cancel()
        if self._playing or self._ended:
            await self.flush()

    async def _run(self) -> None:
        """Write once a second, until nothing is played or waits to be written."""
        while self._playing or self._ended:
            await asyncio.sleep(FLUSH_SECONDS)
            try:
                await self.flush()
            except DatabaseError:
                logger.exception("%d episodes of OpenEnv are not written yet", len(self._ended))


recorder = Recorder()


@transaction.atomic
def _write(episodes: list[PlayedEpisode], announced: list[str]) -> None:
    """Insert episodes; those whose rows the scheduler has taken for lost are left as they are."""
    if announced:
        found = set(UnwrittenEpisode.objects.select_for_update().filter(pk__in=announced).values_list("pk", flat=True))
        lost = set(announced) - found
        episodes = [episode for episode in episodes if episode.id not in lost]
        UnwrittenEpisode.objects.filter(pk__in=found).delete()
    copy_played(human_agent().pk, episodes, timezone.now())


def _announce(holder: UUID, episodes: list[Underway]) -> None:
    """Announce episodes, and renew the leases of all that this process plays."""
    until = Now() + LEASE
    UnwrittenEpisode.objects.bulk_create(
        UnwrittenEpisode(
            id=underway.id,
            user_id=underway.user_id,
            env_id=underway.record.identity.env_id,
            env_version=underway.record.identity.env_version,
            data_hash=underway.record.identity.data_hash,
            seed=underway.record.identity.seed,
            seat_count=len(underway.record.first_info.get("seats", ())) or 1,
            holder=holder,
            leased_until=until,
        )
        for underway in episodes
    )
    UnwrittenEpisode.objects.filter(holder=holder).update(leased_until=until)


def fail_lost() -> None:
    """Write the episodes of processes that have ended as failed. The scheduler calls it."""
    while True:
        with transaction.atomic():
            rows = UnwrittenEpisode.objects.select_for_update(skip_locked=True).filter(leased_until__lt=Now())
            lost = list(rows[:PER_TRANSACTION])
            if not lost:
                return
            _store_failed(lost, human_agent())
            UnwrittenEpisode.objects.filter(pk__in=[row.pk for row in lost]).delete()


def _store_failed(lost: list[UnwrittenEpisode], agent: Agent) -> None:
    Episode.objects.bulk_create(
        Episode(
            id=row.pk,
            env_id=row.env_id,
            env_version=row.env_version,
            data_hash=row.data_hash,
            seed=row.seed,
            seat_count=row.seat_count,
            engine_version=gem.__version__,
            python_version=platform.python_version(),
            status=Episode.Status.FAILED,
            failure=LOST,
            failed_by="environment",
            visibility=Visibility.PRIVATE,
            ended=timezone.now(),
        )
        for row in lost
    )
    Seat.objects.bulk_create(
        Seat(episode_id=row.pk, number=number, agent=agent, user_id=row.user_id)
        for row in lost
        for number in range(row.seat_count)
    )
