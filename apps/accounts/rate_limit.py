"""Rate limits: token buckets in Valkey, one for each name."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import redis

from apps.live.publisher import client
from apps.pauses import Pause

logger = logging.getLogger(__name__)

_pause = Pause()
"""After Valkey has not answered, nothing is limited for a while, and no request waits for it."""

_TAKE = """
local now = redis.call('TIME')
now = now[1] + now[2] / 1000000
local size, rate = tonumber(ARGV[1]), tonumber(ARGV[2])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(size, (tonumber(bucket[1]) or size) + (now - (tonumber(bucket[2]) or now)) * rate)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = (1 - tokens) / rate end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('EXPIRE', KEYS[1], math.ceil(size / rate) + 1)
return {tostring(wait), tostring(tokens)}
"""
"""The bucket holds ARGV[1] tokens and gains ARGV[2] a second. If it has one, it is taken.

Returns the seconds until it has one, or 0 if it had, and the tokens that are left.
"""


@dataclass(frozen=True, slots=True)
class Level:
    """A bucket after a token was taken from it, or could not be taken."""

    size: float
    per_second: float
    wait: float
    """Seconds until the bucket has a token; 0 if one was taken."""
    left: float
    """The tokens that it has left."""

    @property
    def seconds_to_full(self) -> float:
        """The time until it is full again."""
        return (self.size - self.left) / self.per_second


def take(bucket: str, size: float, per_second: float) -> float:
    """Take a token from a bucket, and return 0; return the seconds to wait if the bucket is empty.

    If Valkey does not answer, nothing is limited.

    Args:
        bucket: the name of the bucket, such as `start:user:7`.
        size: the number of tokens in a full bucket.
        per_second: the number of tokens that the bucket gains in a second.
    """
    return measure(bucket, size, per_second).wait


def measure(bucket: str, size: float, per_second: float) -> Level:
    """Take a token like `take`, and return how full the bucket is."""
    if _pause.lasts:
        return Level(size, per_second, 0.0, size)
    try:
        wait, left = client().eval(_TAKE, 1, f"limit:{bucket}", str(size), str(per_second))
    except redis.RedisError as error:
        logger.warning("%s is not limited, because Valkey does not answer: %s", bucket, error)
        _pause.begin()
        return Level(size, per_second, 0.0, size)
    return Level(size, per_second, float(wait), float(left))
