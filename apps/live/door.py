"""Publishing hints about changed rows over Valkey."""

import functools
import logging

import redis
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)

CHANNEL = "live"


@functools.cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.VALKEY_URL, socket_timeout=2, socket_connect_timeout=2)


def publish(topic: str, seq: int) -> None:
    """Tell every web process that `topic` (such as `episode:7kq2...`) has reached `seq`, after commit."""
    transaction.on_commit(lambda: _send(topic, seq))


def _send(topic: str, seq: int) -> None:
    try:
        _client().publish(CHANNEL, f"{topic} {seq}")
    except redis.RedisError as error:
        logger.warning("No hint about %s at %s could be sent; pages catch up by their recheck: %s", topic, seq, error)
