"""Servers that the user named: are they there?"""

from gemweb.local.errors import StackError

PATIENCE_SECONDS = 5


def require_postgres(url: str) -> None:
    """Say in one sentence that the server in DATABASE_URL does not let us in."""
    import psycopg  # noqa: PLC0415 - costs a tenth of a second, only where a server was named

    try:
        psycopg.connect(url, connect_timeout=PATIENCE_SECONDS).close()
    except psycopg.Error as error:
        raise StackError(f"DATABASE_URL leads to no usable Postgres: {_first_line(error)}.") from error


def require_valkey(url: str) -> None:
    """Say in one sentence that the server in VALKEY_URL does not answer."""
    import redis  # noqa: PLC0415 - as above

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=PATIENCE_SECONDS) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise StackError(f"VALKEY_URL leads to no usable Valkey or Redis: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")
