"""The connection to Postgres: as Django's, and the server ends a transaction that takes too long.

A process that is frozen or cut off in the middle of a write would otherwise hold the rows that it locked until somebody
ends it, and everybody who needs these rows would wait: other workers, the reaper, people who cancel a job.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base

FIRST_WITH_TIMEOUT = 170000
"""The first version of Postgres that knows `transaction_timeout`. Earlier ones have timeouts for a statement and for an
idle transaction, which together come close."""


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose transactions last `TRANSACTION_SECONDS` at most; 0 means no limit."""

    def _configure_connection(self, connection: Any) -> bool:
        """Called by Django for every new connection. Returns whether something has to be committed."""
        needs_commit: bool = super()._configure_connection(connection)  # type: ignore[misc]
        if not settings.TRANSACTION_SECONDS:
            return needs_commit
        if connection.info.server_version >= FIRST_WITH_TIMEOUT:
            limit, seconds = "transaction_timeout", settings.TRANSACTION_SECONDS
        else:  # and the connection's options limit how long a transaction may be idle
            limit = "statement_timeout"
            seconds = min(settings.TRANSACTION_SECONDS, settings.STATEMENT_SECONDS or settings.TRANSACTION_SECONDS)
        with connection.cursor() as cursor:
            cursor.execute(f"SET {limit} = '{seconds}s'")
        return True
