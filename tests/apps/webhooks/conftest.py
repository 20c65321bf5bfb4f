"""A person with a webhook, and jobs whose events it sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_django.fixtures import Settings

    from apps.accounts.models import User
    from apps.jobs.models import Job


@pytest.fixture
def ada(db: None, settings: Settings, tmp_path: Path) -> User:
    from apps.accounts.models import User  # settings are not there yet when this file is read
    from apps.agents.models import Agent

    settings.PRIVATE_ENDPOINTS = ["127.0.0.0/8:*"]
    settings.ENDPOINT_KEYS_FILE = tmp_path / "keys"
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    return User.objects.create_user("ada")


@pytest.fixture
def submit(ada: User) -> Callable[..., Job]:
    """Submit an evaluation of Ada's, or of somebody else."""
    from apps.jobs import operations
    from gem.evaluation.spec import EvaluationSpec

    def _submit(owner: User = ada) -> Job:
        spec = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=2)
        return operations.submit(owner, spec)

    return _submit
