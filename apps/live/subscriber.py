"""A subscription to hints that reconnects after any failure of Valkey."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import NoReturn

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

logger = logging.getLogger(__name__)

SILENCE_SECONDS = 10.0
"""After this time without a message, Valkey is pinged; after twice this time, the connection is closed."""
RECONNECT_SECONDS = 0.1
MAX_RECONNECT_SECONDS = 3.0


async def listen(channel: str, hear: Callable[[str], None], catch_up: Callable[[], Awaitable[None]]) -> NoReturn:
    """Call `hear` with every message on `channel`, and `catch_up` after each (re)connection."""
    delay = RECONNECT_SECONDS
    while True:
        client = redis.asyncio.Redis.from_url(
            settings.VALKEY_URL, socket_connect_timeout=2, socket_keepalive=True, retry=Retry(NoBackoff(), 0)
        )
        try:
            async with client, client.pubsub() as subscription:
                await subscription.subscribe(channel)
                delay = RECONNECT_SECONDS
                await catch_up()
                await _receive_all(subscription, hear)
        except (redis.RedisError, OSError) as error:
            logger.warning("No hints from Valkey; rechecks find the changes: %s", error)
        await asyncio.sleep(delay * random.uniform(0.5, 1.5))
        delay = min(delay * 2, MAX_RECONNECT_SECONDS)


async def _receive_all(subscription: PubSub, hear: Callable[[str], None]) -> None:
    """Receive messages until the connection is lost or silent."""
    silent = 0
    while silent < 2:
        message = await subscription.get_message(ignore_subscribe_messages=True, timeout=SILENCE_SECONDS)
        if message is None:
            silent += 1
            await subscription.ping()
            continue
        silent = 0
        if message["type"] == "message":
            hear(message["data"].decode(errors="replace"))
