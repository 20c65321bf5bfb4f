"""Something that happens while something else reads or writes: before one of its queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

MOST_QUERIES = 300
"""More queries than anything here makes."""


class Meanwhile:
    """Calls a function once, before the query with this number or the first one with this text.

    The queries of the function itself go through.
    """

    def __init__(self, before: int | str, happens: Callable[[], object]) -> None:
        self.happened = False
        self._before, self._happens = before, happens
        self._queries = 0

    def __call__(self, execute: Callable[..., Any], sql: str, *more: Any) -> Any:
        """Let a query through, after the function if its time has come."""
        if not self.happened:
            self._queries += 1
            if self._before in sql if isinstance(self._before, str) else self._before == self._queries:
                self.happened = True
                self._happens()
        return execute(sql, *more)


@contextmanager
def meanwhile(before: int | str, happens: Callable[[], object]) -> Iterator[Meanwhile]:
    """Let something happen in the block, before one of its queries."""
    found = Meanwhile(before, happens)
    with connection.execute_wrapper(found):
        yield found


class Elsewhere:
    """Runs a function on another connection, as another process does: until it is done, or waits for a lock of ours."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.refusal: Exception | None = None
        self._function = function
        self._thread = threading.Thread(target=self._run)

    def __call__(self) -> None:
        """Run it."""
        self._thread.start()
        third = connection.copy()  # a query of ours would be one of the transaction that is under way
        try:
            while self._thread.is_alive() and not _somebody_waits(third):
                self._thread.join(0.01)
        finally:
            third.close()

    def end(self) -> None:
        """Wait until it is done, now that our transaction is over."""
        self._thread.join()

    def _run(self) -> None:
        try:
            self._function()
        except Exception as error:  # noqa: BLE001 (the test says which one it expects)
            self.refusal = error
        finally:
            connection.close()


def _somebody_waits(asked: BaseDatabaseWrapper) -> bool:
    """Whether a transaction of the test database waits for a lock."""
    with asked.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock')"
        )
        return bool(cursor.fetchone()[0])
