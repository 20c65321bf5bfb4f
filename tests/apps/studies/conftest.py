"""Whom the tests of studies know: as those of jobs."""

from tests.apps.jobs.conftest import ada, as_ada

__all__ = ["ada", "as_ada"]
