"""A Postgres that is frozen, or away for long: whoever waits for it gives up, and comes back as soon as it does."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.test import override_settings
from psycopg_pool import ConnectionPool

from apps.faults import is_database_away
from gemweb.database import base, limits

AWAY_SECONDS, BACK_SECONDS = 4.5, 2.0


@pytest.mark.usefixtures("transactional_db")
def test_a_statement_that_the_server_neither_answers_nor_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "GRACE_SECONDS", 0.2)
    wrapper = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        with wrapper.cursor() as cursor:
            cursor.execute("SELECT 1")
            # The server has not been told, as if it were frozen. The limit is lifted before the connection is closed,
            # since the pool makes another one then, for other tests.
            with (
                override_settings(TRANSACTION_SECONDS=1),
                pytest.raises(OperationalError, match="did not answer") as refused,
            ):
                cursor.execute("SELECT pg_sleep(4)")
        assert is_database_away(refused.value)
        assert wrapper.connection.closed, "its late answer must not be taken for another one"
    finally:
        wrapper.close()


class Line(psycopg.Connection[Any]):
    """A connection to a database that may be away."""

    is_cut = True

    @classmethod
    def connect(cls, *arguments: Any, **options: Any) -> Any:
        """Connect, or fail."""
        if Line.is_cut:
            raise psycopg.OperationalError("connection refused")
        return super().connect(*arguments, **options)


@pytest.mark.usefixtures("transactional_db")
def test_attempts_to_connect_do_not_become_rare_while_the_database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "POOL_SECONDS", 1.0)
    monkeypatch.setattr(Line, "is_cut", True)
    address = connections[DEFAULT_DB_ALIAS].get_connection_params()
    with ConnectionPool(kwargs=address, connection_class=Line, open=True, **limits.pool_options(2)) as pool:
        time.sleep(AWAY_SECONDS)  # by default the attempts come after 0, 1, 3 and 7 seconds
        monkeypatch.setattr(Line, "is_cut", False)
        with pool.connection(timeout=BACK_SECONDS) as connection:  # the next one would come after 2.5 s
            assert connection.execute("SELECT 1").fetchone() == (1,)
