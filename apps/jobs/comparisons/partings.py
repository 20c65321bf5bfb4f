"""Where two episodes part that begin alike: the first turn with different actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection


class Parting(NamedTuple):
    """The first turn at which two episodes differ."""

    turn: int
    first: str
    """The action of the first episode; empty if it has ended before."""
    second: str


def partings(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Parting]:
    """Return where the episodes of each pair part, by their ids. Pairs with the same actions are left out."""
    if not pairs:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_FIRST_DIFFERENCE, [[first for first, _ in pairs], [second for _, second in pairs]])
        return {(first, second): Parting(*parting) for first, second, *parting in cursor.fetchall()}


_FIRST_DIFFERENCE = """
SELECT pair.first, pair.second, parting.*
FROM unnest(%s::text[], %s::text[]) AS pair(first, second)
CROSS JOIN LATERAL (
    SELECT number, coalesce(one.action, ''), coalesce(other.action, '')
    FROM (SELECT number, action FROM episodes_turn WHERE episode_id = pair.first) AS one
    FULL JOIN (SELECT number, action FROM episodes_turn WHERE episode_id = pair.second) AS other USING (number)
    WHERE one.action IS DISTINCT FROM other.action
    ORDER BY number LIMIT 1
) AS parting
"""
