"""Trainings survive what happens to machines: every update is there once, and the weights are what they would be."""

from __future__ import annotations

import json
import resource
import shutil
import struct
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
import pytest
import redis
from django.conf import settings as django_settings
from django.db import connection

from apps.jobs import operations
from apps.jobs.models import Job, Point, Sample
from apps.trainings import operations as trainings
from apps.trainings.best import best_of
from apps.trainings.records import folder_of
from gem.training.built_in_policies import policy_location
from gemweb.local.servers.postgres import Postgres
from tests.live.test_restarts import Server, guarded, manage
from tests.workers.processes import environment, wait_until
from tests.workers.records import fresh
from tests.workers.trainings import UPDATES, Trainer, assert_whole, small, undisturbed_weights, weights

if TYPE_CHECKING:
    from apps.accounts.models import User

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs")
PATIENCE = 240


def made(job: Job, update: int) -> bool:
    return Point.objects.filter(job=job, update__gte=update).exists()


def evaluations(job: Job) -> list[Job]:
    return list(Job.objects.evaluations().filter(parent=job))


@pytest.mark.fault
def test_one_cancelled_and_resumed_has_the_same_curve_and_the_same_bits(owner: User, trainer: Trainer) -> None:
    job = trainings.submit(owner, small())
    with trainer():
        wait_until(lambda: made(job, 3), "some updates are made", PATIENCE)
        operations.cancel(job.pk, owner)
        wait_until(lambda: fresh(job).state == Job.State.CANCELLED, "it is cancelled", PATIENCE)
        assert fresh(job).points.count() < UPDATES
        trainings.resume(job.pk, owner)
        wait_until(lambda: fresh(job).over, "the training is over", PATIENCE)
        assert_whole(job)
        assert weights(job) == undisturbed_weights(), "bit for bit those of the training that nothing happened to"


@pytest.mark.fault
@pytest.mark.parametrize("place", ["claimed", "points", "checkpoint"])
def test_kill_9_between_any_two_steps_loses_and_repeats_nothing(owner: User, trainer: Trainer, place: str) -> None:
    job = trainings.submit(owner, small(), evaluate_best=True)
    with trainer("--pool", "solo", queues="train", scheduler=False, FAIL_AT=place) as doomed:
        wait_until(lambda: doomed.process.poll() is not None, f"the worker killed itself at {place}", PATIENCE)
    assert not fresh(job).over
    with trainer():
        wait_until(lambda: fresh(job).over, "the training is over", PATIENCE)
    assert_whole(job)
    decisions = job.events.filter(text__contains="for evaluation")
    assert decisions.count() == 1, "whether a checkpoint is evaluated is decided once"
    assert len(evaluations(job)) == (best_of(fresh(job)) is not None), "and only one that is better than the start is"


@pytest.mark.fault
def test_an_emptied_broker_that_drops_its_connections_does_no_harm(owner: User, trainer: Trainer) -> None:
    job = trainings.submit(owner, small())
    broker = redis.Redis.from_url(django_settings.BROKER_URL)
    with trainer():
        wait_until(lambda: made(job, 2), "some updates are made", PATIENCE)
        broker.flushall()
        broker.execute_command("CLIENT", "KILL", "SKIPME", "yes")
        wait_until(lambda: fresh(job).over, "the training is over", PATIENCE)
        later = trainings.submit(owner, small(updates=2))
        wait_until(lambda: fresh(later).over, "one submitted afterwards is over", PATIENCE)
    assert_whole(job)
    assert_whole(later, 2)


@pytest.mark.fault
def test_a_database_that_drops_its_connections_costs_no_update(owner: User, trainer: Trainer) -> None:
    job = trainings.submit(owner, small())
    with trainer():
        wait_until(lambda: made(job, 3), "some updates are made", PATIENCE)
        with connection.cursor() as cursor:  # what a restart of Postgres does to a worker
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert cursor.fetchone()[0] > 0
        wait_until(lambda: fresh(job).over, "the training is over", PATIENCE)
        assert_whole(job)
        assert weights(job) == undisturbed_weights(), "bit for bit those of the training that nothing happened to"


@pytest.mark.long
def test_a_full_disk_leaves_the_last_checkpoint_whole_and_it_goes_on(owner: User, trainer: Trainer) -> None:
    job = trainings.submit(owner, small())
    folder = folder_of(job.pk)
    with trainer():
        wait_until(fresh(job).checkpoints.exists, "there is a checkpoint", PATIENCE)
        pid = json.loads((folder / "state.json").read_text("utf-8"))["pid"]
        limit = 100_000  # smaller than the weights, larger than the rest
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
        wait_until(lambda: fresh(job).over, "it noticed", PATIENCE)
        broken = fresh(job)
        assert broken.state == Job.State.FAILED
        assert "cannot be written" in broken.reason or "is full" in broken.reason
        kept = broken.checkpoints.latest("update")
        assert 0 < kept.update < UPDATES
        assert kept.agent.weights.size == (kept.agent.weights.path / "model.safetensors").stat().st_size
        assert not list((folder / "checkpoints").glob(".*"))
        trainings.resume(job.pk, owner)
        wait_until(lambda: fresh(job).over, "there is room again", PATIENCE)
        assert_whole(job)
        assert weights(job) == undisturbed_weights(), "bit for bit those of the training that nothing happened to"


@pytest.mark.long
def test_what_is_no_number_ends_it_with_the_reason_and_the_batch(
    owner: User, trainer: Trainer, tmp_path: Path, client: Any
) -> None:
    job = trainings.submit(owner, small(model=str(broken_policy(tmp_path / "broken"))))
    with trainer():
        wait_until(lambda: fresh(job).over, "it noticed", PATIENCE)
    failed = fresh(job)
    assert failed.state == Job.State.FAILED
    assert "nan" in failed.reason
    assert failed.shards.get().attempt == 1, "it is not tried again"
    assert Sample.objects.filter(job=job, update=1, exam=False).count() == 16, "the whole batch is there to look at"
    page = client.get(failed.get_absolute_url()).content.decode()
    assert "Look at the batch that caused the failure" in page
    assert "Episodes of update 1" in client.get(f"{failed.get_absolute_url()}?update=1").content.decode()


def broken_policy(folder: Path) -> Path:
    """The base policy with a weight that is no number."""
    shutil.copytree(policy_location("nano-base"), folder)
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    length = struct.unpack("<Q", content[:8])[0]
    first, _ = json.loads(content[8 : 8 + length])["model.norm.weight"]["data_offsets"]
    content[8 + length + first : 8 + length + first + 4] = struct.pack("<f", float("nan"))
    path.write_bytes(content)
    return folder


@pytest.mark.fault
@pytest.mark.usefixtures("owner")
def test_postgres_killed_and_started_again_costs_no_update(trainer: Trainer) -> None:
    with guarded() as (guard, folder):
        postgres = Server(Postgres(folder / "postgres", folder / "postgres-password"), guard)
        url = postgres.server.url
        manage(environment(DATABASE_URL=url), "migrate", "-v", "0")
        manage(environment(DATABASE_URL=url), "shell", "-c", BEGIN)
        with trainer(DATABASE_URL=url):
            wait_until(lambda: asked(url, "SELECT count(*) FROM jobs_point") >= 3, "some updates are made", PATIENCE)
            postgres.kill()
            time.sleep(3)
            postgres.start()
            wait_until(lambda: asked(url, "SELECT count(*) FROM jobs_job WHERE state = 'done'") == 1, "over", PATIENCE)
        assert asked(url, "SELECT count(*) FROM jobs_point") == UPDATES
        assert asked(url, "SELECT max(update) FROM jobs_checkpoint") == UPDATES


BEGIN = """
from apps.accounts.models import User
from apps.trainings import operations
from tests.workers.trainings import small
operations.submit(User.objects.create_user("somebody"), small())
"""


def asked(url: str, query: LiteralString) -> int:
    """The number that a query gives; -1 while the database is away."""
    try:
        with psycopg.connect(url, connect_timeout=2) as there:
            row = there.execute(query).fetchone()
    except psycopg.OperationalError:
        return -1
    return -1 if row is None else int(row[0])
