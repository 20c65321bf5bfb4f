"""Two programs change different things of one row at the same moment: both changes are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.jobs import operations as jobs
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in
from tests.apps.api.conftest import Program
from tests.apps.meanwhile import Elsewhere, meanwhile

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def send(owner: User, program_of: Callable[..., Program]) -> Callable[..., None]:
    """Send a change and, before it is written, another one."""
    program, other_program = program_of(owner), program_of(owner)

    def _send(method: str, path: str, first: Any, second: Any, before: str) -> None:
        answers = []
        other = Elsewhere(lambda: answers.append(other_program.send(method, path, second)))
        with meanwhile(before, other) as it:
            answers.append(program.send(method, path, first))
        other.end()
        assert it.happened
        assert [answer.status_code for answer in answers] == [200, 200]

    return _send


def test_a_job(owner: User, send: Callable[..., None]) -> None:
    built_in("random")
    spec = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=1)
    job = jobs.submit(owner, spec)
    send("PATCH", f"jobs/{job.pk}", {"name": "a name"}, {"tags": ["a tag"]}, 'UPDATE "jobs_job"')
    job.refresh_from_db()
    assert (job.name, job.tags) == ("a name", ["a tag"])


def test_an_agent(owner: User, send: Callable[..., None], settings: Settings, tmp_path: Path) -> None:
    settings.ENDPOINT_KEYS_FILE = tmp_path / "keys"
    agent = agents.create(owner, "mine", EndpointSpec(url="https://example.org/v1", model="one"))
    first, second = {"spec": {"temperature": 0.5}}, {"spec": {"max_tokens": 77}}
    send("PATCH", f"agents/{agent.slug}", first, second, 'UPDATE "agents_endpoint"')
    agent.endpoint.refresh_from_db()
    assert (agent.endpoint.spec["temperature"], agent.endpoint.spec["max_tokens"]) == (0.5, 77)


def test_an_account(owner: User, send: Callable[..., None]) -> None:
    first, second = {"default_visibility": "private"}, {"agent_visibility": "unlisted"}
    send("PUT", "account/visibility", first, second, 'UPDATE "accounts_user"')
    owner.refresh_from_db()
    assert (owner.default_visibility, owner.agent_visibility) == ("private", "unlisted")
