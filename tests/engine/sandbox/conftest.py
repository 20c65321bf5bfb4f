"""Sandbox tests run at every level that this machine has; the others are skipped with the reason."""

import functools
from collections.abc import Iterator

import pytest

from gem.sandbox import Level, levels
from gem.sandbox.pool import Pool


@functools.cache
def probe_once(level: Level) -> levels.Probe:
    """The result of trying a level, once for the session."""
    return levels.probe(level)


@pytest.fixture(params=list(levels.DEFAULT_ORDER), scope="session")
def level(request: pytest.FixtureRequest) -> Level:
    """Each level in turn."""
    probe = probe_once(request.param)
    if not probe.ok:
        pytest.skip(f"no level {request.param} here: {probe.message}")
    return probe.level


@pytest.fixture(scope="session")
def pool(level: Level) -> Iterator[Pool]:
    """Two sandboxes of the level."""
    made = Pool(level, 2)
    yield made
    made.close()
