"""What the tests of workers share: the built-in agents, an owner, and jobs to give away.

Django is imported inside the fixtures: this file may be read before the settings are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.jobs.models import Job
    from tests.workers.trainings import Trainer


@pytest.fixture(autouse=True)
def _test_environments() -> Iterator[None]:
    from tests.workers import environments

    with environments.registered():
        yield


@pytest.fixture
def owner(transactional_db: None) -> User:
    """Somebody with an account; the agents are there too, and no message of an earlier test."""
    import redis
    from django.conf import settings

    from apps.accounts.models import User
    from apps.agents.models import Agent

    redis.Redis.from_url(settings.BROKER_URL).flushdb()
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    return User.objects.create_user("worker-owner", password="a long password")


@pytest.fixture
def submit(owner: User) -> Callable[..., Job]:
    """Submit an evaluation of the random agent."""
    from apps.jobs import operations
    from gem.evaluation.spec import EvaluationSpec
    from tests.workers import environments

    def _submit(env_id: str = environments.SLOW, episodes: int = 300, **more: Any) -> Job:
        request: dict[str, Any] = {"agent": "random", "num_envs": 8, **more}
        if "benchmark" not in more:
            request |= {"env_ids": [env_id], "episodes_per_env": episodes}
        return operations.submit(owner, EvaluationSpec.model_validate(request))

    return _submit


@pytest.fixture
def trainer(tmp_path: Path, settings: Any) -> Trainer:
    """Starts a worker that trains, in a folder of the test."""
    from tests.workers.processes import worker

    settings.RUNS_DIR = tmp_path / "runs"
    return lambda *arguments, **more: worker(
        *(arguments or ("--concurrency", "1")), **{"queues": "train,reap", "RUNS_DIR": str(settings.RUNS_DIR), **more}
    )
