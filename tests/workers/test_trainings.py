"""Trainings in real worker processes: killed, paused, extended, forked; each update is there once."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from apps.agents.models import Agent
from apps.jobs import operations
from apps.jobs.models import Checkpoint, Job, Point
from apps.trainings import operations as trainings
from apps.trainings.logs import tail_of
from apps.trainings.records import folder_of
from gem.training.built_in_policies import policy_location
from tests.workers.processes import wait_until
from tests.workers.records import fresh
from tests.workers.trainings import UPDATES, Trainer, assert_whole, small, undisturbed_weights, weights

if TYPE_CHECKING:
    from apps.accounts.models import User

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")


@pytest.fixture
def job(owner: User, trainer: Trainer) -> Job:
    """A training in the queue."""
    return trainings.submit(owner, small())


def test_a_training_leaves_its_curve_and_checkpoints_and_can_be_forked_and_extended(
    owner: User, trainer: Trainer, tmp_path: Path
) -> None:
    job = trainings.submit(owner, small(updates=2))
    with trainer(WARM_TRAININGS="1"):
        wait_until(lambda: fresh(job).over, "the training is over")
        assert_whole(job, 2)
        assert_left_behind(job, 2)
        parent = Checkpoint.objects.get(job=job, update=1)
        fork = trainings.submit(owner, small(learning_rate=1e-4, updates=2), parent=parent)
        wait_until(lambda: fresh(fork).over, "the fork is over")
        assert fresh(fork).parent_id == job.pk
        assert_whole(fork, 2, first=2)
        trainings.extend(job.pk, owner, 1)
        wait_until(lambda: fresh(job).over, "it went on")
        assert_whole(job, 3)
        model = shutil.copytree(policy_location("nano-base"), tmp_path / "broken")
        (model / "model.safetensors").write_bytes(b"broken")
        broken = trainings.submit(owner, small(model=str(model)))
        wait_until(lambda: fresh(broken).over, "one that cannot begin is over")
        lost = trainings.submit(owner, small(updates=6, max_tokens=1, stop_on=["invalid"]))
        wait_until(lambda: fresh(lost).over, "one whose policy cannot write an action stops by itself")
    assert_failed(broken)
    assert (fresh(lost).state, fresh(lost).state_in_words) == (Job.State.STOPPED, "stopped by its alarm")
    assert "stopped by itself after update 3: invalid actions since update 1" in fresh(lost).reason
    assert lost.checkpoints.latest("update").update == lost.points.count() == 3


def assert_failed(job: Job) -> None:
    """It says why, and was not tried again."""
    job = fresh(job)
    assert job.state == Job.State.FAILED
    assert "model.safetensors holds no weights" in job.reason
    assert job.shards.get().attempt == 1


def assert_left_behind(job: Job, updates: int) -> None:
    """Its curve, what its last checkpoint is, and its log."""
    point = Point.objects.get(job=job, update=updates)
    assert point.data["turns"] == fresh(job).turns_done
    latest = Checkpoint.objects.get(job=job, update=updates)
    assert latest.agent.kind == Agent.Kind.CHECKPOINT
    assert latest.success == point.data["success"]
    assert not latest.agent.listed
    assert fresh(job).agent.listed
    assert latest.agent.weights.card["env_id"] == "game:GuessTheNumber-v0-easy"
    said = tail_of(job.pk)
    assert "training on game:GuessTheNumber-v0-easy" in said
    assert f"update {updates} " in said
    assert f"checkpoint after update {updates}" in said


@pytest.mark.fault
def test_kill_9_of_everything_loses_no_update_and_the_weights_become_the_same(job: Job, trainer: Trainer) -> None:
    with trainer() as doomed:
        wait_until(lambda: Point.objects.filter(job=job, update__gte=3).exists(), "some updates are made")
        doomed.kill()
    assert Point.objects.filter(job=job).count() < UPDATES
    with trainer():
        wait_until(lambda: fresh(job).over, "the training is over")
    assert_whole(job)
    assert job.events.filter(text__contains=", attempt 2").exists(), "another attempt went on; progress counts anew"
    assert weights(job) == undisturbed_weights()


@pytest.mark.long
def test_one_paused_frees_its_worker_and_goes_on_when_the_one_that_took_it_is_cancelled(
    owner: User, job: Job, trainer: Trainer
) -> None:
    with trainer():
        wait_until(lambda: Point.objects.filter(job=job, update__gte=2).exists(), "some updates are made")
        assert trainings.pause(job.pk, owner).state == Job.State.PAUSED
        long = trainings.submit(owner, small(updates=5000))
        wait_until(lambda: Point.objects.filter(job=long).exists(), "another one has the worker meanwhile")
        made = fresh(job).points.count()
        assert made < UPDATES
        assert fresh(job).state == Job.State.PAUSED
        operations.cancel(long.pk, owner)
        assert 0 < fresh(long).points.count() < 5000
        trainings.resume(job.pk, owner)
        wait_until(lambda: fresh(job).over, "its worker is free, and the training is over")
    assert fresh(long).state == Job.State.CANCELLED
    assert list((folder_of(long.pk) / "checkpoints").iterdir()), "it stopped with one"
    assert_whole(job)
