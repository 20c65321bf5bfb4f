"""The connection to Postgres: as Django's, and the server ends a transaction that takes too long.

A process that is frozen or cut off in the middle of a write would otherwise hold the rows that it locked until somebody
ends it, and everybody who needs these rows would wait: other workers, the reaper, people who cancel a job. A server
that is frozen ends nothing, so this end gives up by itself a little later.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.conf import settings
from django.db.backends.postgresql import base
from psycopg import Connection, errors
from psycopg.abc import PQGen

FIRST_WITH_TIMEOUT = 170000
"""The first version of Postgres that knows `transaction_timeout`. Earlier ones have timeouts for a statement and for an
idle transaction, which together come close."""

GRACE_SECONDS = 5.0
"""How much longer than its own limits the server may take to answer before it counts as frozen."""
INTERVAL_SECONDS = 0.1
"""How often a wait looks whether it was interrupted, as in psycopg."""

AnswerT = TypeVar("AnswerT")


class BoundedConnection(Connection[Any]):
    """A connection that is given up if the server answers much later than it would have ended the work.

    The kernel of a frozen server still acknowledges every packet, so no timeout of TCP ends such a wait.
    """

    def wait(self, gen: PQGen[AnswerT], interval: float = INTERVAL_SECONDS, timeout: float | None = None) -> AnswerT:
        """As in psycopg, with a limit if none is given.

        Raises:
            OperationalError: if the answer did not come; the connection is closed.
        """
        most = patience() if timeout is None else None
        if most is None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, most)
        except errors._WaitTimeout as error:  # noqa: SLF001 - psycopg documents it, and has no other
            self.pgconn.finish()  # an answer that comes later must not be taken for that of another statement
            raise errors.OperationalError(f"Postgres did not answer within {most:g} s") from error


def patience() -> float | None:
    """Seconds to wait for an answer; None if the server has no limits, such as for migrations."""
    limits = [seconds for seconds in (settings.STATEMENT_SECONDS, settings.TRANSACTION_SECONDS) if seconds]
    return min(limits) + GRACE_SECONDS if limits else None


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection whose transactions last `TRANSACTION_SECONDS` at most; 0 means no limit."""

    def _configure_connection(self, connection: Any) -> bool:
        """Called by Django for every new connection. Returns whether something has to be committed."""
        connection.__class__ = BoundedConnection  # Django's pool can be told a class, but Django without a pool cannot
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
