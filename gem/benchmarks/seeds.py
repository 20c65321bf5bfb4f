"""Seeds of a season: drawn from a key that is published when the season is over.

Everybody knows the commitment, the SHA-256 of the key, from the first day, so the key cannot be exchanged afterwards.
With the key anybody can derive every seed and the order of play. `docs/verification.md` has test vectors.
"""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256

from gem.errors import InvalidArgument

KEY_BYTES = 32
COMMON = "common"
"""The scope of all rows that share their seeds and are compared in pairs. Other scopes are numbers of submissions."""
SEED_BITS = 53
"""Readers of JSON may store numbers as doubles, which are exact up to 2**53."""

_NAME = re.compile(r"[^/\s]+")
"""Parts of a message are separated by slashes, so no part has one."""


def new_key() -> bytes:
    """Draw the key of a season."""
    return secrets.token_bytes(KEY_BYTES)


def commitment(key: bytes) -> str:
    """Return the commitment to a key, 64 hexadecimal digits."""
    return sha256(_checked(key)).hexdigest()


def keeps(key: bytes, committed: str) -> bool:
    """Whether this is the key of a commitment."""
    return len(key) == KEY_BYTES and hmac.compare_digest(commitment(key), committed.lower())


def derive_seed(key: bytes, benchmark: str, version: int, env_id: str, scope: str, index: int) -> int:
    """Return a seed from 0 to 2**53 - 1.

    It is the number that the first 53 bits of HMAC-SHA256(key, "benchmark/version/env_id/scope/index") make, the first
    bit being the highest.

    Args:
        scope: `COMMON`, or the number of a submission.
        index: the number of the seed in the environment, from 0.

    Raises:
        InvalidArgument: if the key has another length, a name has a slash, or a number is negative.
    """
    digest = _hmac(key, benchmark, version, env_id, scope, index)
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def order_of_play(key: bytes, benchmark: str, version: int, scope: str, count: int) -> list[int]:
    """Return the numbers from 0 to `count` - 1 in the order in which the episodes of a job are played.

    They are sorted by HMAC-SHA256(key, "benchmark/version/scope/order/number/count").

    Raises:
        InvalidArgument: as `derive_seed`.
    """
    digests = [_hmac(key, benchmark, version, scope, "order", number, count) for number in range(count)]
    return sorted(range(count), key=digests.__getitem__)


def _hmac(key: bytes, *parts: str | int) -> bytes:
    for part in parts:
        if part < 0 if isinstance(part, int) else not _NAME.fullmatch(part):
            raise InvalidArgument(f"{part!r:.60} can be no part of what a seed is derived from.")
    return hmac.digest(_checked(key), "/".join(map(str, parts)).encode(), "sha256")


def _checked(key: bytes) -> bytes:
    if len(key) != KEY_BYTES:
        raise InvalidArgument(f"The key of a season has {KEY_BYTES} bytes.")
    return key
