"""The random ids of episodes and batches."""

from __future__ import annotations

import secrets

ID_LENGTH = 12
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, which are easy to misread


def make_id() -> str:
    """A random id of 60 bits, short enough to read out."""
    bits = secrets.randbits(5 * ID_LENGTH)
    return "".join(ALPHABET[(bits >> 5 * i) & 31] for i in range(ID_LENGTH))
