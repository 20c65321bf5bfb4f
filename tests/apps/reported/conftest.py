"""Whom the tests of reported evaluations know."""

from tests.apps.api.conftest import program_of
from tests.apps.jobs.conftest import ada, as_ada

__all__ = ["ada", "as_ada", "program_of"]
