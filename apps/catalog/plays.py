"""How often environments are played here, by people and by agents that somebody watches.

A worker counts and `keep`s the numbers in the cache; pages read them from there, at most once a minute in each process.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import redis
from django.core.cache import cache

if TYPE_CHECKING:
    from apps.catalog.entries import Entry

KEY = "catalog:plays"
FRESH_SECONDS = 600
"""The age at which the numbers are counted again."""
READ_SECONDS = 60


def keep(numbers: Mapping[str, int]) -> None:
    """Store the number of plays of each environment."""
    cache.set(KEY, {"at": time.time(), "plays": dict(numbers)}, None)


def are_fresh() -> bool:
    """Whether the numbers were counted a short time ago."""
    kept = cache.get(KEY)
    return bool(kept) and time.time() - kept["at"] < FRESH_SECONDS


def numbers() -> dict[str, int]:
    """Environment id to its number of plays; empty if nobody has counted, or the cache does not answer."""
    return _numbers(int(time.monotonic()) // READ_SECONDS)


@lru_cache(1)
def _numbers(_when: int) -> dict[str, int]:
    try:
        kept = cache.get(KEY)
    except redis.RedisError:  # the catalog is shown without them
        kept = None
    return kept["plays"] if kept else {}


def of_families(entries: Iterable[Entry]) -> Counter[tuple[str, str]]:
    """The number of plays of each family, which is named by its category and its name."""
    played = numbers()
    counted: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        counted[entry.spec.category, entry.family] += played.get(entry.id, 0)
    return counted
