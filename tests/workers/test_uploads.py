"""An uploaded checkpoint is tried by a worker, whatever happens to workers meanwhile."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from apps.agents import uploads
from apps.agents.models import Agent, Upload
from gem.training.built_in_policies import policy_location
from tests.archives import pack
from tests.workers.processes import Worker, wait_until, worker

if TYPE_CHECKING:
    from apps.accounts.models import User

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="policies need torch, which `make test` installs")
PATIENCE = 180
Trier = Callable[..., AbstractContextManager[Worker]]


@pytest.fixture
def trier(tmp_path: Path, settings: Any) -> Trier:
    """Starts a worker that tries uploads, in a folder of the test."""
    settings.RUNS_DIR = tmp_path / "runs"
    return lambda **more: worker(
        "--concurrency", "1", **{"queues": "verify,reap", "RUNS_DIR": str(settings.RUNS_DIR), **more}
    )


def sent(owner: User, settings_ready: Trier) -> Upload:
    assert settings_ready
    file = io.BytesIO()
    pack(Path(policy_location("nano-base")), file, "policy")
    return uploads.accept(owner, "traveller", file)


def underway() -> bool:
    return Upload.objects.exclude(lease_token=None).exists()


@pytest.mark.fault
def test_an_upload_outlives_a_killed_worker_and_one_that_is_told_to_end(owner: User, trier: Trier) -> None:
    upload = sent(owner, trier)
    with trier() as doomed:
        wait_until(underway, "it is being tried", PATIENCE)
        doomed.kill()
    assert not Agent.objects.filter(owner=owner).exists()
    with trier() as leaving:
        wait_until(lambda: Upload.objects.get().attempt == 2 and underway(), "it is tried again", PATIENCE)
        leaving.terminate()
    left = Upload.objects.get()
    assert (left.attempt, left.lease_token, left.problem) == (1, None, "")
    with trier():
        wait_until(lambda: not Upload.objects.exists(), "it was tried", PATIENCE)
        wait_until(lambda: not uploads._sent(upload.slug).exists(), "what was sent is deleted", PATIENCE)
    agent = Agent.objects.get(owner=owner)
    assert agent.slug == upload.slug
    assert (agent.weights.path / "model.safetensors").is_file()


def test_an_upload_that_no_message_told_of_is_found(owner: User, trier: Trier) -> None:
    import redis
    from django.conf import settings

    sent(owner, trier)
    redis.Redis.from_url(settings.BROKER_URL).flushdb()
    with trier():
        wait_until(lambda: not Upload.objects.exists(), "it was tried", PATIENCE)
    assert Agent.objects.filter(owner=owner).exists()
