"""Whom the tests of checkpoints know: Ada, whose files are written into a temporary folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django.fixtures import Settings

    from apps.accounts.models import User
    from gem.training.checkpoints.trial import TrialResult


@pytest.fixture
def ada(db: None, settings: Settings, tmp_path: Path) -> User:
    from apps.accounts.models import User  # settings are not there yet when this file is read

    settings.RUNS_DIR = tmp_path
    settings.LEASE_SECONDS = 120.0  # the thread that renews it does not see this test's transaction
    return User.objects.create_user("ada")


@pytest.fixture
def as_ada(ada: User, client: Client) -> Client:
    client.force_login(ada)
    return client


_answers: dict[tuple[str, str], TrialResult] = {}


@pytest.fixture(autouse=True)
def one_trial(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy plays its first turn once for all of these tests, for each environment; each start takes seconds.

    A worker that is to end begins a trial of its own, and `tries_itself` marks tests whose own trial it has to be.
    """
    if "tries_itself" in request.fixturenames:
        return

    from apps.agents import uploads
    from gem.training.checkpoints.archive import sha256
    from gem.training.checkpoints.folder_check import WEIGHTS
    from gem.training.checkpoints.trial import try_folder

    def try_once(folder: Path, env_id: str, should_stop: Callable[[], bool]) -> TrialResult:
        key = (sha256(folder / WEIGHTS), env_id)
        if key not in _answers or should_stop():
            _answers[key] = try_folder(folder, env_id, should_stop=should_stop)
        return _answers[key]

    monkeypatch.setattr(uploads, "try_folder", try_once)


@pytest.fixture
def tries_itself() -> None:
    """See `one_trial`."""
