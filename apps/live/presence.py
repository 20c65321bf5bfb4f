"""The number of spectators over all web processes.

Every process stores its counts in a hash that expires unless it is renewed, so the spectators of a killed process
disappear by themselves. No clocks are compared, because Valkey expires the hash.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import cast

import redis

from apps.live.publisher import CHANNEL, PRESENCE, client

logger = logging.getLogger(__name__)

EXPIRE_SECONDS = 10
RENEW_SECONDS = 3.0
_PROCESSES = "presence"


def count(topic_key: str) -> int:
    """The number of spectators of `topic_key` (such as `episode:7kq2...`); 0 if Valkey does not answer."""
    return counts([topic_key])[topic_key]


def counts(topic_keys: Iterable[str]) -> dict[str, int]:
    """The number of spectators of each topic key."""
    keys = list(topic_keys)
    try:
        return _sum(keys)
    except redis.RedisError as error:
        logger.warning("Spectators cannot be counted: %s", error)
        return dict.fromkeys(keys, 0)


def renew(process: str, own: Mapping[str, int], changed: Iterable[str] = ()) -> None:
    """Write the counts of `process`, renew their expiry, and publish the `changed` topic keys.

    Raises:
        redis.RedisError: if Valkey does not answer.
    """
    pipe = client().pipeline()
    pipe.sadd(_PROCESSES, process)
    pipe.delete(_name(process))
    pipe.hset(_name(process), mapping={"": "", **{key: str(number) for key, number in own.items()}})
    pipe.expire(_name(process), EXPIRE_SECONDS)
    for topic_key in changed:
        pipe.publish(CHANNEL, f"{PRESENCE}:{topic_key} 0")
    pipe.execute()


def badge(spectators: int) -> str:
    """The HTML element with the number of spectators, as an event for pages that show it."""
    return f'<output id="spectators" hx-swap-oob="innerHTML">{spectators:,} watching</output>'


def _sum(keys: list[str]) -> dict[str, int]:
    processes = sorted(name.decode() for name in cast("set[bytes]", client().smembers(_PROCESSES)))
    pipe = client().pipeline(transaction=False)
    for process in processes:
        pipe.hmget(_name(process), ["", *keys])
    totals = dict.fromkeys(keys, 0)
    for process, (alive, *own) in zip(processes, pipe.execute(), strict=True):
        if alive is None:
            client().srem(_PROCESSES, process)
        for key, number in zip(keys, own, strict=True):
            totals[key] += int(number or 0)
    return totals


def _name(process: str) -> str:
    return f"{_PROCESSES}:{process}"
