"""Databases in the Postgres that the processes of a test run share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import call_command
from django.db import connection

ANY_NUMBER = 20_260_101
"""Of the lock of the process that makes the migrated database."""


def migrated() -> str | None:
    """The name of a database with all tables, to copy; whoever asks first makes it. None in a Postgres of others.

    Migrating takes six seconds of a core, copying a tenth of one.
    """
    name = os.environ.get("MIGRATED_DATABASE")
    if name is None:
        return None
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [ANY_NUMBER])  # until this connection is closed
        cursor.execute("SELECT EXISTS (SELECT FROM pg_database WHERE datname = %s)", [name])
        if not cursor.fetchone()[0]:
            draft = f"{name}_draft"
            create(draft)
            with connected_to(draft):
                call_command("migrate", verbosity=0, interactive=False)
            cursor.execute(f'ALTER DATABASE "{draft}" RENAME TO "{name}"')
    return name


def create(name: str, template: str | None = None) -> None:
    """Make the database called `name` anew, as a copy of another one or empty."""
    drop(name)
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))


def drop(name: str) -> None:
    """Drop the database called `name`, if it is there, and end who is still connected.

    FORCE would end autovacuum as well, which only a superuser may; without it the server sees to that itself.
    """
    with connection._nodb_cursor() as cursor:
        ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = current_user"
        cursor.execute(ours, [name])
        cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Let this process's models read and write the database called `name`."""
    before = connection.settings_dict["NAME"]
    try:
        _connect(name)
        yield
    finally:
        _connect(before)


def _connect(name: str) -> None:
    connection.close()
    connection.close_pool()
    connection.settings_dict["NAME"] = name
