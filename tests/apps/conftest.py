"""Fixtures of the apps' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def full_rate_limit_buckets() -> Iterator[None]:
    """What one test has taken from the rate limits of an address does not refuse the requests of the next."""
    yield
    from apps.live.publisher import client

    if taken := list(client().scan_iter("limit:*", count=1000)):
        client().delete(*taken)
