"""The rows of a table in parts, which Postgres selects and Arrow holds by columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from django.db import connection
from django.db.models import F, QuerySet
from pyarrow import compute

from apps.accounts.models import Viewer
from apps.episodes.models import Episode, EpisodeQuerySet, Turn
from apps.jobs.exports.arrow import field_of
from apps.jobs.exports.tables import TABLES, Column, TableName, closed_columns
from apps.jobs.models import Job

FIRST_PART, LARGEST_PART = 500, 20_000
"""Rows of the first part, and the most of a part, unless one episode has more turns."""
TURNS_EXPECTED = 8
"""So many turns of an episode are expected where it is decided how many episodes are looked at for a part."""
BYTES_OF_A_PART = 12 * 2**20
"""About how long a part is, if its rows are as long as those before them."""


def parts(job: Job, table: TableName, viewer: Viewer) -> Iterator[pa.Table]:
    """The rows of a table as this person may see them, in parts.

    Each part is read in one step, so that steps may happen in different threads.
    """
    columns = closed_columns(table) if job.is_closed else TABLES[table]
    if job.is_closed and table == "turns":
        return
    if table == "scores":
        for env_id in dict.fromkeys(job.spec["env_ids"]):
            episodes = exported(job, viewer).filter(env_id=env_id, seats__number=F("scored_seat"))
            yield _selected(episodes.order_by().values("env_id", "seed"), columns, "seed")
        return
    last, most = -1, FIRST_PART
    while chosen := _next_episodes(exported(job, viewer), last, most, by_turns=table == "turns"):
        last, keys = chosen[-1].slot, [episode.key for episode in chosen]
        if table == "turns":
            rows = _with_episodes(_selected(Turn.objects.filter(episode__in=keys), columns, "pk"), chosen, columns)
        else:
            rows = _selected(Episode.objects.filter(pk__in=keys, seats__number=F("scored_seat")), columns, "slot")
        yield rows
        most = max(1, min(LARGEST_PART, 4 * most, BYTES_OF_A_PART * rows.num_rows // max(1, rows.nbytes)))


def exported(job: Job, viewer: Viewer) -> EpisodeQuerySet:
    """The finished episodes of a job that this person may see. None of them has secrets between its seats any more.

    Those of a closed job nobody may see; how they ended is exported all the same (`closed_columns`).
    """
    over = [Episode.Status.ENDED, Episode.Status.FAILED]
    rows = Episode.objects.filter(hidden_reason="") if job.is_closed else Episode.objects.visible_to(viewer)
    rows = rows.filter(batch=job.batch_id, slot__isnull=False)
    return rows.filter(status__in=over, goes_on_in=None)


class _Chosen(NamedTuple):
    """An episode that is read next."""

    slot: int
    key: str
    turns: int
    env_id: str
    seed: int


def _next_episodes(episodes: EpisodeQuerySet, last: int, most: int, *, by_turns: bool) -> list[_Chosen]:
    """The episodes after a slot that are read next: as many as have `most` rows together, and at least one."""
    rows = episodes.filter(slot__gt=last).order_by("slot")
    chosen: list[_Chosen] = []
    turns = 0
    for slot, key, turn_count, env_id, seed in rows.values_list("slot", "pk", "turn_count", "env_id", "seed")[
        : max(1, most // TURNS_EXPECTED) if by_turns else most
    ]:
        turns += turn_count
        if by_turns and chosen and turns > most:
            break
        chosen.append(_Chosen(int(slot or 0), key, turn_count, env_id, seed))
    return chosen


def _selected(rows: QuerySet[Any, Any], columns: Sequence[Column], *order: str) -> pa.Table:
    """The selected rows as a table of those columns that have a value to select."""
    selected = [column for column in columns if column.value is not None]
    groups = [column.name for column in columns if column.is_group]
    added = {f"x{number}": column.value for number, column in enumerate(selected) if not column.is_group}
    sql, values = rows.annotate(**added).order_by(*order).values_list(*groups, *added).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found = cursor.fetchall()
    by_column: Sequence[Sequence[Any]] = list(zip(*found, strict=True)) or [()] * len(selected)
    fields = [field_of(column) for column in selected]
    arrays = [pa.array(values, field.type) for values, field in zip(by_column, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _with_episodes(turns: pa.Table, episodes: Sequence[_Chosen], columns: Sequence[Column]) -> pa.Table:
    """The turns with what is known of their episodes, in the order of these."""
    place = compute.index_in(turns["episode"], pa.array([episode.key for episode in episodes]))
    for name in ("slot", "env_id", "seed"):
        values = pa.array([getattr(episode, name) for episode in episodes])
        turns = turns.append_column(name, values.take(place))
    return turns.sort_by([("slot", "ascending"), ("turn", "ascending")]).select([column.name for column in columns])
