"""Who asks for the addresses of the site, and what the addresses name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from apps.accounts.models import User


@pytest.fixture(autouse=True)
def fresh_readiness() -> Iterator[None]:
    """Let no test read what the one before it made of the database and of Valkey."""
    from apps.site import health  # the settings cannot be read yet when this file is read

    health.shared_readiness.forget()
    yield
    health.shared_readiness.forget()


@pytest.fixture
def people(db: None) -> dict[str, User | None]:
    """One person of each role."""
    from tests.apps.site.objects import some_people  # the settings cannot be read yet when this file is read

    return some_people()


@pytest.fixture
def objects(people: dict[str, User | None]) -> dict[str, Any]:
    """What addresses name; agent, episode, show and job belong to the owner."""
    from tests.apps.site.objects import objects_of

    return objects_of(people)
