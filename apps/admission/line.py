"""Lines: rows that wait for a worker, claimed in turn by person and by address, with limits on what runs at a time.

Whoever kept workers busy for less time lately is next (`note_spent`), and among equals, who was served longest ago.

A person without an account shares the turns and the limits of an IP address with all its other visitors, so that a new
cookie earns nothing. Among them, people take turns too. Rows are claimed with SKIP LOCKED; two processes that claim at
the same moment may exceed a limit by what the other one takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection, models, transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.admission.models import Party
from apps.leases import LeasedQuerySet

Rows = TypeVar("Rows", bound=models.QuerySet[Any])

FORGET = timedelta(days=1)
"""After so long without being served, a party counts as new."""
UNLIMITED = 2**31 - 1
UNIT_SECONDS = 5.0
"""Shares that kept workers busy for as many of these units lately are equal, so that the start of a process, or a busy
machine, puts nobody behind the others."""

_ORDER = """
WITH waiting(key, unit, person, address, since) AS ({waiting}),
busy(unit, person, address) AS ({busy}),
named AS (
    SELECT *, min(since) OVER (PARTITION BY unit) AS began,
           CASE WHEN person = '' THEN key WHEN address = '' THEN person ELSE 'from:' || address END AS share
    FROM waiting
),
of_people AS (
    SELECT named.*, party.served,
           dense_rank() OVER (PARTITION BY person ORDER BY began, unit) AS round,
           person = '' OR unit IN (SELECT unit FROM busy) AS free,
           row_number() OVER (PARTITION BY person ORDER BY began, unit, key)
           + coalesce(own.number, 0) <= coalesce(other.most, %(per_person)s) AS fits
    FROM named
    LEFT JOIN (SELECT person, count(*) AS number FROM busy GROUP BY 1) own USING (person)
    LEFT JOIN unnest(%(people)s::varchar[], %(limits)s::int[]) AS other(person, most) USING (person)
    LEFT JOIN admission_party party ON party.line = %(line)s AND party.name = named.person
),
of_shares AS (
    SELECT of_people.*,
           row_number() OVER (
               PARTITION BY share ORDER BY free OR fits DESC, round, served NULLS FIRST, began, unit, key) AS turn
    FROM of_people
),
admitted AS (
    SELECT of_shares.*, party.served AS share_served,
           coalesce(floor(party.spent * 0.5 ^ (extract(epoch FROM now() - party.spent_at) / 60)
                          / %(unit_seconds)s), 0) AS share_spent,
           free OR fits AND (of_shares.address = ''
                             OR turn + coalesce(theirs.number, 0) <= %(per_address)s) AS is_admitted
    FROM of_shares
    LEFT JOIN (SELECT address, count(*) AS number FROM busy GROUP BY 1) theirs USING (address)
    LEFT JOIN admission_party party ON party.line = %(line)s AND party.name = share
)
SELECT key, person, share, is_admitted,
       row_number() OVER (
           ORDER BY is_admitted DESC, turn, share_spent, share_served NULLS FIRST, began, unit, key) AS place
FROM admitted
"""
"""All waiting rows in the order in which they are served.

A round has one unit of each person. A turn has one row of each share: of an account, or of an address. Rows that exceed
a limit come last. Rows of a unit that is partly claimed, and those of the site, are admitted in any case.
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of waiting rows, and its limits.

    The rows are given as a query with the columns of `rows`.
    """

    name: str
    per_person: int = UNLIMITED
    """Rows of one person that workers may have claimed at the same time."""
    per_address: int = UNLIMITED
    """The same for all people without an account at one IP address."""
    others: Mapping[str, int | None] = field(default_factory=dict)
    """The limits of people who have others than `per_person`, by their names; None for no limit."""

    def claim(
        self, waiting: LeasedQuerySet[Any], busy: models.QuerySet[Any], token: UUID, most: int, **changes: Any
    ) -> list[Any]:
        """Lease up to `most` of the waiting rows in turn, with other `changes`, and return their keys.

        Args:
            waiting: the rows that may be claimed (`rows`).
            busy: the rows that workers have claimed.
        """
        if not waiting.exists():  # most workers that look find nothing
            return []
        with transaction.atomic():
            first = self._ordered(waiting, busy, "WHERE is_admitted ORDER BY place LIMIT %(most)s", most=most)
            keys = [key for key, *_ in first]
            claimed: list[Any] = waiting.filter(pk__in=keys).claim(token, most, **changes) if keys else []
            parties = [(person, share) for key, person, share, *_ in first if key in claimed and person]
            if parties:
                note_served(self.name, chain.from_iterable(parties))
        return claimed

    def place(self, waiting: models.QuerySet[Any], busy: models.QuerySet[Any], key: Any) -> int | None:
        """How many rows are served up to and including this one; None if it does not wait."""
        found = self._ordered(waiting, busy, "WHERE key = %(key)s", key=key)
        return found[0][-1] if found else None

    def _ordered(
        self, waiting: models.QuerySet[Any], busy: models.QuerySet[Any], which: str, **values: Any
    ) -> list[Any]:
        queries = {
            "waiting": waiting.order_by().values_list("pk", "unit", "person", "address", "since"),
            "busy": busy.order_by().values_list("unit", "person", "address"),
        }
        values |= {
            "line": self.name,
            "unit_seconds": UNIT_SECONDS,
            "per_person": self.per_person,
            "per_address": self.per_address,
        }
        values["people"] = list(self.others)
        values["limits"] = [UNLIMITED if most is None else most for most in self.others.values()]
        texts = {}
        for name, query in queries.items():
            text, arguments = query.query.sql_with_params()
            texts[name] = text % tuple(f"%({name}{number})s" for number in range(len(arguments)))
            values |= {f"{name}{number}": argument for number, argument in enumerate(arguments)}
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM ({_ORDER.format(**texts)}) line {which}", values)  # noqa: S608 (our own)
            ordered: list[Any] = cursor.fetchall()
        return ordered


def rows(query: Rows, since: str, *, unit: Any = None, person: Any = None) -> Rows:
    """The rows of a query with the columns that a line needs.

    Args:
        since: the field with the time since which a row waits.
        unit: what rows have in common that are played together or not at all; by default each is alone.
        person: whose the row is, if it has no field for that.
    """
    columns: dict[str, Any] = {"since": F(since), "unit": F("pk") if unit is None else unit}
    if person is not None:
        columns |= {"person": person, "address": models.Value("")}
    annotated: Rows = query.annotate(**columns)
    return annotated


def note_served(line: str, names: Iterable[str]) -> None:
    """Note that these parties were served now, one after the other."""
    order = {name: number for number, name in enumerate(names)}  # the last time counts
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO admission_party (line, name, served)
            SELECT %s, name, statement_timestamp() + number * interval '1 microsecond'
            FROM unnest(%s::varchar[], %s::int[]) AS party(name, number) ORDER BY name
            ON CONFLICT (line, name) DO UPDATE SET served = excluded.served
            """,
            [line, list(order), list(order.values())],
        )


def note_spent(line: str, person: str, address: str, seconds: float) -> None:
    """Note for how long a worker was busy for somebody, so that others are next.

    Args:
        person, address: as in the row that was served.
    """
    if not person:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO admission_party AS party (line, name, served, spent, spent_at)
            VALUES (%(line)s, %(name)s, now(), %(seconds)s, now())
            ON CONFLICT (line, name) DO UPDATE SET
                spent = party.spent * 0.5 ^ (extract(epoch FROM now() - party.spent_at) / 60) + excluded.spent,
                spent_at = now()
            """,
            {"line": line, "name": share_of(person, address), "seconds": seconds},
        )


def share_of(person: str, address: str) -> str:
    """The name of the share that a row belongs to: an account, or all visitors of an address."""
    return f"from:{address}" if address else person


def forget_parties() -> int:
    """Delete parties that have not been served for a day. Returns their number."""
    with transaction.atomic():
        old = Party.objects.filter(served__lt=Now() - FORGET).select_for_update(skip_locked=True)
        deleted, _ = Party.objects.filter(pk__in=[party.pk for party in old]).delete()
    return deleted
