"""Checks of the external servers in DATABASE_URL and VALKEY_URL."""

from gemweb.local.errors import StackError

TIMEOUT_SECONDS = 5


def require_postgres(url: str) -> None:
    """Check that we can connect to the server in DATABASE_URL.

    Raises:
        StackError: if we cannot.
    """
    import psycopg  # noqa: PLC0415 - the import takes a tenth of a second

    try:
        psycopg.connect(url, connect_timeout=TIMEOUT_SECONDS).close()
    except psycopg.Error as error:
        raise StackError(f"DATABASE_URL leads to no usable Postgres: {_first_line(error)}.") from error


def require_valkey(url: str) -> None:
    """Check that the server in VALKEY_URL answers.

    Raises:
        StackError: if it does not.
    """
    import redis  # noqa: PLC0415 - as above

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=TIMEOUT_SECONDS) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise StackError(f"VALKEY_URL leads to no usable Valkey or Redis: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
