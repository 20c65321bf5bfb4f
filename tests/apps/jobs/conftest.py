"""Whom the tests of jobs know: the built-in agents, and Ada, whose runs are written into a temporary folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django.fixtures import Settings

    from apps.accounts.models import User


@pytest.fixture
def ada(db: None, settings: Settings, tmp_path: Path) -> User:
    from apps.accounts.models import User  # settings are not there yet when this file is read
    from apps.agents.models import Agent

    settings.RUNS_DIR = tmp_path
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})
    return User.objects.create_user("ada")


@pytest.fixture
def as_ada(ada: User, client: Client) -> Client:
    client.force_login(ada)
    return client
