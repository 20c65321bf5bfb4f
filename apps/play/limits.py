"""How much one person may start in a short time: a token bucket in Valkey.

Starting an episode costs a row and a reset. The limit is for scripts without an account, not for people.
"""

from __future__ import annotations

import logging

import redis
from django.conf import settings
from django.http import HttpRequest

from apps.accounts import visitors
from apps.episodes.errors import TooFast
from apps.live.door import client

logger = logging.getLogger(__name__)

_TAKE = """
local now = redis.call('TIME')
now = now[1] + now[2] / 1000000
local size, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local found = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(size, (tonumber(found[1]) or size) + (now - (tonumber(found[2]) or now)) * rate)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = (1 - tokens) / rate end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(size / rate) + 1)
return tostring(wait)
"""
"""The bucket holds ARGV[1] tokens and gains ARGV[2] a second; the answer is the seconds to wait, 0 if one was taken."""


def check_start(request: HttpRequest) -> None:
    """Count one start for this person.

    Raises:
        TooFast: above `STARTS_PER_MINUTE`; people with an account have four times as many.
    """
    per_minute = settings.STARTS_PER_MINUTE
    if request.user.is_authenticated:
        buckets = [(f"start:user:{request.user.pk}", 4 * per_minute)]
    else:
        # A visitor's key can be thrown away, so the address counts too; it may be shared by a class.
        address = request.META.get("REMOTE_ADDR", "")
        buckets = [(f"start:visitor:{visitors.key(request)}", per_minute), (f"start:from:{address}", 4 * per_minute)]
    for bucket, size in buckets:
        wait = _take(bucket, size, size / 60)
        if wait > 0:
            raise TooFast(
                f"{size} episodes a minute can be started here, and you have started as many. Nothing was started, "
                f"nothing is lost. Try again in {max(1, round(wait))} s.",
                wait,
            )


def _take(bucket: str, size: int, per_second: float) -> float:
    try:
        return float(client().eval(_TAKE, 1, f"limit:{bucket}", str(size), str(per_second)))
    except redis.RedisError as error:
        logger.warning("Starts are not counted while Valkey is away: %s", error)
        return 0.0
