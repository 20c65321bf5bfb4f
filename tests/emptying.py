"""How the test database becomes again what the migrations left, after a test that commits.

Django truncates every table for that and then writes content types and permissions anew, a fifth of a second for each
of several hundred tests. Here only what a test has written is deleted, and what the migrations wrote keeps its keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.backends.utils import CursorWrapper

KEPT = "kept_for_tests"
"""The schema with copies of the tables in which the migrations wrote rows."""
FEW_ROWS = 1_000
"""Up to so many rows of a table are deleted; beyond that, truncating all tables is faster."""
UNCHANGED = """
SELECT NOT EXISTS (TABLE {table} EXCEPT TABLE {kept}) AND NOT EXISTS (TABLE {kept} EXCEPT TABLE {table})
"""
WITH_TRIGGERS = """
SELECT DISTINCT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid WHERE NOT tgisinternal
"""
"""Tables that may refuse that a row is deleted, such as the log of decisions."""


class Emptied:
    """The tables of a database that was just migrated."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._tables: list[str] = connection.introspection.django_table_names(only_existing=True, include_views=False)
        with connection.cursor() as cursor:
            self._kept = set(self._sizes(cursor))
            cursor.execute(f"DROP SCHEMA IF EXISTS {KEPT} CASCADE")
            cursor.execute(f"CREATE SCHEMA {KEPT}")
            for table in self._kept:
                cursor.execute(f'CREATE TABLE {KEPT}."{table}" AS TABLE "{table}"')
            cursor.execute(WITH_TRIGGERS)
            self._with_triggers = {name for (name,) in cursor.fetchall()}

    def empty(self) -> None:
        """Delete what was written since, and write again what the migrations wrote. References are checked last."""
        from django.db import transaction

        with transaction.atomic(self._connection.alias), self._connection.cursor() as cursor:
            sizes = self._sizes(cursor)
            changed = {table for table in self._kept if not self._is_unchanged(cursor, table)}
            written = (set(sizes) - self._kept) | changed
            if self._with_triggers & written or any(sizes.get(table, 0) > FEW_ROWS for table in written):
                cursor.execute(f"TRUNCATE {self._names(self._tables)}")
                changed = self._kept
            else:
                for table in sorted(written):
                    cursor.execute(f'DELETE FROM "{table}"')
            for table in sorted(changed):
                cursor.execute(f'INSERT INTO "{table}" SELECT * FROM {KEPT}."{table}"')

    def _sizes(self, cursor: CursorWrapper) -> dict[str, int]:
        """The tables that have rows, and how many, as far as one more than `FEW_ROWS`."""
        counts = (
            f"SELECT '{table}', count(*) FROM (SELECT FROM \"{table}\" LIMIT {FEW_ROWS + 1}) AS few"
            for table in self._tables
        )
        cursor.execute(" UNION ALL ".join(counts))
        return {table: count for table, count in cursor.fetchall() if count}

    def _is_unchanged(self, cursor: CursorWrapper, table: str) -> bool:
        cursor.execute(UNCHANGED.format(table=f'"{table}"', kept=f'{KEPT}."{table}"'))
        return bool(cursor.fetchone()[0])

    @staticmethod
    def _names(tables: Iterable[str]) -> str:
        return ", ".join(f'"{table}"' for table in tables)
