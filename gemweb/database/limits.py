"""The options of a connection to Postgres: how long statements, transactions and silence may last."""

from __future__ import annotations

from typing import Any

PROBES = 3
"""Unanswered keepalives after which a connection is given up."""
BOUNDED_APPLICATION = "gemweb"
"""The `application_name` of connections whose transactions are limited. Backups and migrations have another one."""
POOL_SECONDS = 8.0
"""How long a page waits for a connection before it reports an error: long enough for a restart of Postgres."""
CONNECT_SECONDS = 10
"""How long one attempt to connect may take. A host that was cut off may answer the next one as soon as it is back."""


def pool_options(most: int) -> dict[str, Any]:
    """The options of psycopg's pool of at most so many connections."""
    return {
        "min_size": 1,
        "max_size": most,
        "timeout": POOL_SECONDS,
        # The waits between two attempts double until this time is over. By default that takes 5 minutes, so a site
        # would stay away for up to two minutes longer than Postgres. Begun anew, they stay below 5 s.
        "reconnect_timeout": POOL_SECONDS,
        "reconnect_failed": _keep_trying,
    }


def _keep_trying(pool: Any) -> None:
    """Begin attempts to connect anew: somebody may still wait, and nobody else would make one for them."""
    pool.check()


def bound_connection(database: dict[str, Any], statement: int, transaction: int, silence: int) -> None:
    """Write the limits into the Django settings of a database. What its address says already stays.

    Args:
        statement: seconds that a statement may take.
        transaction: seconds that a transaction may take, idle or not. `gemweb.database.base` sets it on servers that
            know this limit; the options here are for earlier ones.
        silence: seconds without an answer after which both ends give up a TCP connection; an attempt to connect has
            `CONNECT_SECONDS`.

    With 0, a limit is not set.
    """
    server: dict[str, str] = {}
    client: dict[str, int | str] = {}
    if transaction:
        client["application_name"] = BOUNDED_APPLICATION
        server["idle_in_transaction_session_timeout"] = f"{transaction}s"
    if statement:
        server["statement_timeout"] = f"{statement}s"
    if silence:
        idle, interval = max(1, silence // 3), max(1, silence * 2 // 3 // PROBES)
        server |= {
            "tcp_keepalives_idle": str(idle),
            "tcp_keepalives_interval": str(interval),
            "tcp_keepalives_count": str(PROBES),
            "tcp_user_timeout": f"{silence}s",
        }
        client |= {
            "connect_timeout": CONNECT_SECONDS,
            "keepalives_idle": idle,
            "keepalives_interval": interval,
            "keepalives_count": PROBES,
            "tcp_user_timeout": silence * 1000,
        }
    options: dict[str, Any] = database["OPTIONS"]
    flags = " ".join(f"-c {name}={value}" for name, value in server.items())
    own = options.get("options", "")
    database["OPTIONS"] = {**client, **options} | ({"options": f"{flags} {own}".strip()} if flags or own else {})
