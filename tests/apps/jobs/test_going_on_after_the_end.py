"""Evaluations that have ended and are to go on: they end again, or it is said why they cannot go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.jobs import controls, leases, operations
from apps.jobs.errors import CannotChange
from apps.jobs.models import Job, JobBooks, Shard
from gem.evaluation.spec import EvaluationSpec

pytestmark = pytest.mark.django_db
EASY, HARD = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard"
State = Job.State


@pytest.fixture
def job(ada: User) -> Job:
    """A job of two environments, with a shard of two episodes for each."""
    return operations.submit(ada, EvaluationSpec(agent="random", env_ids=(EASY, HARD), episodes_per_env=2))


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def record_unanswered(job: Job, env_id: str, slot: int) -> None:
    """What a worker writes of an episode in which the agent gave no answer."""
    failed = {"status": Episode.Status.FAILED, "failed_by": "agent", "ended": timezone.now()}
    Episode.objects.create(batch=job.batch, slot=slot, env_id=env_id, env_version=1, seed=0, **failed)
    job.shards.filter(env_id=env_id).update(done=1, errors=1, unanswered=1)
    Job.objects.filter(pk=job.pk).update(episodes_done=F("episodes_done") + 1)


def shards_claimed() -> set[str]:
    """The environments of all shards that workers get now."""
    found: set[str] = set()
    while (claim := leases.claim()) is not None:
        found.add(claim.env_id)
    return found


def test_an_environment_is_brought_back_to_a_job_that_has_failed(job: Job, ada: User) -> None:
    controls.skip_environment(job.pk, ada, EASY)
    claim = leases.claim()
    assert claim is not None
    leases.fail_job(claim, "The key was refused.")
    assert fresh(job).state == State.FAILED
    assert controls.bring_back(job.pk, ada, EASY).state == State.QUEUED
    assert shards_claimed() == {EASY, HARD}, "otherwise the job would run for ever, waiting for a shard that failed"
    assert not fresh(job).shards.exclude(state=Shard.State.RUNNING, reason="").exists()


CONTROLS: list[Callable[[Job, User], object]] = [
    lambda job, by: controls.retry_failed(job.pk, by),
    lambda job, by: controls.requeue_episode(job.pk, by, 0),
    lambda job, by: controls.bring_back(job.pk, by, HARD),
]


def test_a_job_without_budget_does_not_go_on(job: Job, as_ada: Client, ada: User) -> None:
    controls.skip_environment(job.pk, ada, HARD)
    claim = leases.claim()
    assert claim is not None
    record_unanswered(job, EASY, 0)
    why = "The budget of 3,000 tokens is used up."
    JobBooks.objects.create(job=job, refusal=why)
    leases.stop_over_budget(claim, why)
    before = fresh(job)
    assert before.state == State.STOPPED
    for control in CONTROLS:
        with pytest.raises(CannotChange, match=r"stopped by its budget.*Submit it again with a larger one"):
            control(job, ada)
    assert fresh(job).state == State.STOPPED, "a queued job of which no shard is queued would wait for ever"
    assert fresh(job).seq == before.seq
    page = as_ada.get(job.get_absolute_url()).content.decode()
    assert 'value="retry"' not in page
    assert 'value="bring-back"' not in page


def test_what_failed_in_a_skipped_environment_is_played_again_when_it_is_brought_back(
    job: Job, as_ada: Client, ada: User
) -> None:
    record_unanswered(job, HARD, 2)
    controls.skip_environment(job.pk, ada, HARD)
    Shard.objects.filter(job=job, env_id=EASY).update(state=Shard.State.DONE, done=2)
    Job.objects.filter(pk=job.pk).update(state=State.DONE)
    assert 'value="retry"' not in as_ada.get(job.get_absolute_url()).content.decode()
    with pytest.raises(CannotChange, match="No episode has failed"):
        controls.retry_failed(job.pk, ada)
    with pytest.raises(CannotChange, match="was skipped"):
        controls.requeue_episode(job.pk, ada, 2)
    assert fresh(job).state == State.DONE, "a queued job of which no shard is queued would wait for ever"
    controls.bring_back(job.pk, ada, HARD)
    controls.retry_failed(job.pk, ada)
    claim = leases.claim()
    assert claim is not None
    assert [request.index for request in claim.slots()] == [2, 3]
