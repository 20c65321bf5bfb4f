"""Whom the tests of trainings elsewhere know, and what they send."""

from __future__ import annotations

import pytest

from tests.apps.api.conftest import program_of
from tests.apps.curves.senders import Trackio
from tests.apps.jobs.conftest import ada, as_ada

__all__ = ["ada", "as_ada", "program_of"]


@pytest.fixture
def trackio(ada: None) -> Trackio:
    """A client of trackio with a token of ada."""
    return Trackio("ada")
