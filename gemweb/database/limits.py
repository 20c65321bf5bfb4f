"""The options of a connection to Postgres: how long statements, transactions and silence may last."""

from __future__ import annotations

from typing import Any

PROBES = 3
"""Unanswered keepalives after which a connection is given up."""
BOUNDED_APPLICATION = "gemweb"
"""The `application_name` of connections whose transactions are limited. Backups and migrations have another one."""


def bound_connection(database: dict[str, Any], statement: int, transaction: int, silence: int) -> None:
    """Write the limits into the Django settings of a database. What its address says already stays.

    Args:
        statement: seconds that a statement may take.
        transaction: seconds that a transaction may take, idle or not. `gemweb.database.base` sets it on servers that
            know this limit; the options here are for earlier ones.
        silence: seconds without an answer after which both ends give up a TCP connection.

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
            "keepalives_idle": idle,
            "keepalives_interval": interval,
            "keepalives_count": PROBES,
            "tcp_user_timeout": silence * 1000,
        }
    options: dict[str, Any] = database["OPTIONS"]
    flags = " ".join(f"-c {name}={value}" for name, value in server.items())
    own = options.get("options", "")
    database["OPTIONS"] = {**client, **options} | ({"options": f"{flags} {own}".strip()} if flags or own else {})
