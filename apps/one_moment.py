"""Answers that take several queries and are of one moment: what others commit meanwhile is in none of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """Let all queries of the block see the database as it is at the first one. It is for reading.

    In a transaction it changes nothing, because what such a one sees was decided when it began.
    """
    if connection.in_atomic_block:
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield
