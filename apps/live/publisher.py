"""Publishing hints over Valkey: that a row has changed, that a worker has work, that a session has ended."""

import functools
import hashlib
import logging

import redis
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)

CHANNEL = "live"
"""Every web process listens here. A message is `<kind>:<name> <seq>`."""
SESSION = "session"
PRESENCE = "presence"
TIMEOUT_SECONDS = 2


@functools.cache
def client() -> redis.Redis:
    """This process' connections to Valkey."""
    return redis.Redis.from_url(
        settings.VALKEY_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
    )


def publish(topic: str, seq: int) -> None:
    """Tell every web process that `topic` (such as `episode:7kq2...`) has reached `seq`, after commit."""
    transaction.on_commit(lambda: send(CHANNEL, f"{topic} {seq}"))


def wake(workers: str, name: str) -> None:
    """Tell the hosts called `workers` (such as `play`) to look at `name` now, after commit."""
    transaction.on_commit(lambda: send(channel_of(workers), name))


def end_session(session_key: str | None) -> None:
    """Ask every web process whether this session's sockets may stay open, after commit; called at logout."""
    if session_key:
        transaction.on_commit(lambda: send(CHANNEL, f"{SESSION}:{fingerprint(session_key)} 0"))


def channel_of(workers: str) -> str:
    """The channel on which the hosts called `workers` are woken."""
    return f"wake:{workers}"


def fingerprint(session_key: str) -> str:
    """A name for a session that does not open it."""
    return hashlib.sha256(session_key.encode()).hexdigest()


def send(channel: str, message: str) -> None:
    """Send a hint now; without Valkey nothing is lost but time."""
    try:
        client().publish(channel, message)
    except redis.RedisError as error:
        logger.warning("The hint %r could not be sent; it is found out by rechecking: %s", message, error)
