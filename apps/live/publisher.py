"""Publishes hints over Valkey: a row has changed, a worker has work, or a session has ended."""

import functools
import hashlib
import logging

import redis
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)

CHANNEL = "live"
"""The channel to which every web process subscribes. A message is `<kind>:<name> <seq>`."""
SESSION = "session"
ACCESS = "access"
PRESENCE = "presence"
TIMEOUT_SECONDS = 2


@functools.cache
def client() -> redis.Redis:
    """The Valkey client of this process."""
    return redis.Redis.from_url(
        settings.VALKEY_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
    )


def publish(topic: str, seq: int) -> None:
    """Publish after the commit that `topic` (such as `episode:7kq2...`) has reached `seq`."""
    transaction.on_commit(lambda: send(CHANNEL, f"{topic} {seq}"))


def wake(workers: str, name: str) -> None:
    """Wake the hosts called `workers` (such as `play`) after the commit, so that they check `name` now."""
    transaction.on_commit(lambda: send(channel_of(workers), name))


def end_session(credential: str | None) -> None:
    """Make every web process recheck after the commit who listens by this session or token, which has ended."""
    if credential:
        transaction.on_commit(lambda: send(CHANNEL, f"{SESSION}:{fingerprint(credential)} 0"))


def recheck_access(topic: str = "") -> None:
    """Make every web process recheck after the commit who may follow `topic` (such as `episode:7kq2...`); or all."""
    transaction.on_commit(lambda: send(CHANNEL, f"{ACCESS}:{topic} 0"))


def channel_of(workers: str) -> str:
    """The channel that wakes the hosts called `workers`."""
    return f"wake:{workers}"


def fingerprint(credential: str) -> str:
    """A hash that identifies a session but does not give access to it."""
    return hashlib.sha256(credential.encode()).hexdigest()


def send(channel: str, message: str) -> None:
    """Send a hint now. If Valkey does not answer, the change is found later by rechecks."""
    try:
        client().publish(channel, message)
    except redis.RedisError as error:
        logger.warning("The hint %r could not be sent; rechecks will find the change: %s", message, error)
