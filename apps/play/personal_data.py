"""The episodes of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line, stop_each
from apps.episodes import operations
from apps.episodes.errors import EpisodeEnded, NotFound
from apps.episodes.models import Batch, Episode, EpisodeQuerySet, Seat
from apps.episodes.replays.downloads import records_of
from apps.leases import patient_transaction
from apps.play.models import Show
from apps.play.shows import operations as shows
from apps.zips import ExportedFile

CHUNK = 200
"""Episodes that are deleted at a time."""


def episodes_of(user: User) -> EpisodeQuerySet:
    """The episodes that a person plays, and those of agents that they started outside of jobs."""
    seated = Seat.objects.filter(user=user).values("episode")
    return Episode.objects.filter(Q(pk__in=seated) | Q(show__started_by=user), of_job=False)


def lines_of(episodes: EpisodeQuerySet, user: User) -> Iterator[bytes]:
    """Episodes as JSONL, by their keys: each line is an episode with its turns, as this person may see it."""
    for data, turns in records_of(episodes, user):
        yield as_line({**data, "turns": turns})


def delete_in_chunks(episodes: QuerySet[Episode]) -> Iterator[None]:
    """Delete episodes with all that belongs to them, in small transactions, with a step after each."""
    while keys := list(episodes.values_list("pk", flat=True)[:CHUNK]):
        with patient_transaction():
            Episode.objects.filter(pk__in=keys).delete()
        yield


def _export(user: User) -> Iterator[ExportedFile]:
    yield ExportedFile("episodes.jsonl", lines_of(episodes_of(user), user))


def _stop(user: User) -> None:
    """End the running episodes of a person, and those of agents that they started."""
    stop_each(episodes_of(user).filter(status=Episode.Status.RUNNING).values_list("pk", flat=True), _end)


def _end(key: str) -> None:
    with suppress(EpisodeEnded, NotFound):
        if Show.objects.filter(pk=key).exists():
            shows.stop(key)
        else:
            operations.abandon(operations.find(key))


def _erase(user: User) -> Iterator[None]:
    shared = list(episodes_of(user).filter(_is_shared_with_others(user)).values_list("pk", flat=True))
    for key in shared:
        with patient_transaction():
            _leave(key, user)
        yield
    duels = Batch.objects.filter(kind=Batch.Kind.DUEL, episodes__in=episodes_of(user))
    emptied = list(duels.distinct().values_list("pk", flat=True))
    yield from delete_in_chunks(episodes_of(user))
    with patient_transaction():
        Batch.objects.filter(pk__in=emptied, episodes=None).delete()


def _is_shared_with_others(user: User) -> Q:
    """Whether somebody else plays in the episode or, in a duel, beside it."""
    others = Seat.objects.exclude(user=user).filter(Q(user__isnull=False) | ~Q(visitor=""))
    beside = Episode.objects.filter(batch=OuterRef("batch"), batch__kind=Batch.Kind.DUEL)
    started_by_others = beside.exclude(show__started_by=user).filter(
        Q(show__started_by__isnull=False) | Q(show__visitor__gt="")
    )
    return (
        Q(Exists(others.filter(episode=OuterRef("pk"))))
        | Q(Exists(others.filter(episode__batch=OuterRef("batch"), episode__batch__kind=Batch.Kind.DUEL)))
        | Q(Exists(started_by_others))
    )


def _leave(key: str, user: User) -> None:
    """Take a person out of an episode that stays. Nobody can take the seat."""
    episode = operations.lock(key)
    episode.seats.filter(user=user).update(user=None, visitor=secrets.token_hex(16), name="")
    Show.objects.filter(pk=key, started_by=user).update(started_by=None, person="")


PART = PersonalData(
    export=_export,
    stop=_stop,
    erase=_erase,
    goes=("the episodes that you played alone or against agents, and those of agents that you watched",),
    stays=("episodes that you played with other people, which show you as a person without a name",),
)
