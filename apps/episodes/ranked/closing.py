"""Closed batches: episodes on hidden seeds while their season runs.

One column decides, `Batch.closed`. `EpisodeQuerySet` keeps closed episodes from everybody but the people in their
seats. What pages of jobs, the API, events and exports read of all episodes of a job at once goes through `conceal`,
which leaves out what an observation, and with it the seed, could be known by. `Episode.seed` holds
a number that stands for the seed until `open_batch` exchanges it.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection, transaction

from apps.episodes.models import Batch, Episode
from apps.seasons.models import Season
from apps.seasons.numbers import is_hidden, read
from apps.seasons.operations import seeds_by_number

WHY_CLOSED = "closed while its season runs"
"""What stands in the place of a text that is closed."""


def conceal(episodes: Iterable[Episode], *, closed: bool) -> list[Episode]:
    """These episodes of a job as its page may show them: of closed ones, only how they ended. Do not save them."""
    rows = list(episodes)
    for row in rows if closed else ():
        row.failure = WHY_CLOSED if row.failure else ""
        row.ending_text, row.first_observation, row.first_info = "", "", {}
        row.state = None
    return rows


@transaction.atomic
def open_batch(batch_id: str) -> bool:
    """Open a closed batch: its episodes get their seeds, and everybody whom its visibility lets see them. False if it
    is open already.
    """
    batch = Batch.objects.select_for_update(of=("self",)).select_related("season").get(pk=batch_id)
    if not batch.closed or batch.season is None:
        return False
    _write_seeds(batch, batch.season)
    Batch.objects.filter(pk=batch.pk).update(closed=False)
    return True


def _write_seeds(batch: Batch, season: Season) -> None:
    """Put the seeds in the place of the numbers that stand for them."""
    columns = ("env_id", "seed")
    played = Episode.objects.filter(batch=batch, seed__lt=0).order_by().values_list(*columns).distinct()
    found: dict[tuple[str, int], dict[int, int]] = {}
    env_ids, hidden, seeds = [], [], []
    for env_id, number in played:
        assert is_hidden(number)
        place = env_id, read(number)[1]
        if place not in found:
            found[place] = seeds_by_number(season, *place)
        env_ids.append(env_id)
        hidden.append(number)
        seeds.append(found[place][number])
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE episodes_episode AS episode SET seed = drawn.seed"
            " FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) AS drawn (env_id, hidden, seed)"
            " WHERE episode.batch_id = %s AND episode.env_id = drawn.env_id AND episode.seed = drawn.hidden",
            [env_ids, hidden, seeds, batch.pk],
        )
