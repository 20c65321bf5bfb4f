"""Hashing of passwords, a few at a time: each takes a core for a third of a second, and many at once would take all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from apps.accounts.limits import TooOften

SLOTS = max(1, (os.cpu_count() or 1) // 2)
"""Passwords that one process hashes at a time."""
MAX_WAITING_SECONDS = 10.0
"""How long a request waits for others' passwords to be hashed."""

_slots = BoundedSemaphore(SLOTS)


class FewAtATime(PBKDF2PasswordHasher):
    """Django's hasher, limited to half the cores. It runs in the thread of a request, beside the event loop."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password, as setting and as comparing one does.

        Raises:
            TooOften: if others hash for `MAX_WAITING_SECONDS`.
        """
        with _slot():
            return super().encode(password, salt, iterations)


@contextmanager
def _slot() -> Iterator[None]:
    """Wait for a slot, without a database connection, of which there are few."""
    if not connection.in_atomic_block:
        connection.close()
    if not _slots.acquire(timeout=MAX_WAITING_SECONDS):
        sentence = "Many people are logging in right now. Nothing was changed. Try again in a few seconds."
        raise TooOften(sentence, MAX_WAITING_SECONDS)
    try:
        yield
    finally:
        _slots.release()
