"""Jobs that a restore has paused: their pages say so, and their owners resume or cancel them."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.jobs import leases, operations
from apps.jobs.errors import NotYours
from apps.jobs.models import Job, Shard
from gem.evaluation.spec import EvaluationSpec

pytestmark = pytest.mark.django_db


@pytest.fixture
def paused(ada: User) -> Job:
    """A job as a restore leaves it."""
    spec = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=3)
    job = operations.submit(ada, spec)
    Job.objects.filter(pk=job.pk).update(state=Job.State.PAUSED, reason="The site was restored from a backup.")
    Shard.objects.filter(job=job).update(state=Shard.State.PAUSED)
    return Job.objects.get(pk=job.pk)


def test_nobody_plays_it_and_the_pages_say_so(paused: Job, client: Client) -> None:
    assert leases.claim() is None
    assert "<b>The job is paused.</b> The site was restored" in client.get(paused.get_absolute_url()).content.decode()
    assert "This site was restored from a backup" in client.get("/jobs/").content.decode()


def test_its_owner_resumes_it(paused: Job, client: Client, ada: User) -> None:
    assert "Resume" not in client.get(paused.get_absolute_url()).content.decode()
    client.force_login(ada)
    assert "Resume" in client.get(paused.get_absolute_url()).content.decode()
    assert client.post(f"{paused.get_absolute_url()}resume/").status_code == 302
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == paused.pk
    assert Job.objects.get(pk=paused.pk).reason == ""
    assert "This site was restored" not in client.get("/jobs/").content.decode()


def test_others_cannot_resume_it(paused: Job) -> None:
    with pytest.raises(NotYours):
        operations.resume(paused.pk, User.objects.create_user("somebody-else"))


def test_its_owner_cancels_it(paused: Job, ada: User) -> None:
    assert operations.cancel(paused.pk, ada).state == Job.State.CANCELLED
    assert set(paused.shards.values_list("state", flat=True)) == {Shard.State.CANCELLED}
