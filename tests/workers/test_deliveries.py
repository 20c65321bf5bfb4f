"""The broker may deliver twice, late or not at all: Postgres decides."""

import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from django.conf import settings
from django.db import connection

from apps.accounts.models import User
from apps.jobs.models import Job
from apps.queue import enqueue
from gemweb.celery import app
from tests import warm
from tests.services import ROOT
from tests.workers.environments import SLOW
from tests.workers.processes import environment, wait_until, worker
from tests.workers.records import Submit, assert_exactly_once, fresh, play_out
from workers import evaluate


def test_a_task_delivered_twice_and_at_once_plays_every_episode_once(submit: Submit) -> None:
    job = submit(SLOW, 150)
    for _ in range(6):
        enqueue("evaluate.shards", job.pk)
    with worker("--concurrency", "2"), worker("--pool", "solo", scheduler=False):
        wait_until(lambda: fresh(job).over, "the job is over")
    assert_exactly_once(job)
    assert set(job.shards.values_list("attempt", flat=True)) == {1}


def test_the_same_task_in_two_threads_plays_every_episode_once(submit: Submit) -> None:
    job = submit(SLOW, 120)

    def play() -> bool:
        evaluate.shards(job.pk)
        return fresh(job).over

    def play_on() -> None:
        try:
            wait_until(play, "the job is over")  # while the other thread has the shard there is nothing to do
        finally:
            connection.close()

    app.finalize()  # as a worker does before its first task
    assert evaluate.shards.name  # which also binds the task, before two threads do so at the same time
    with ThreadPoolExecutor(2) as threads:
        for played in [threads.submit(play_on) for _ in range(2)]:
            played.result()
    assert_exactly_once(job)


def test_a_task_that_comes_after_the_end_changes_nothing(submit: Submit) -> None:
    job = submit(SLOW, 10)
    play_out(job)
    seq = fresh(job).seq
    evaluate.shards(job.pk)
    assert_exactly_once(job)
    assert fresh(job).seq == seq


@pytest.mark.fault
def test_an_emptied_broker_delays_a_job_and_no_more(submit: Submit) -> None:
    job = submit(SLOW, 50)
    redis.Redis.from_url(settings.BROKER_URL).flushall()
    with worker():
        wait_until(lambda: fresh(job).over, "the job is over")
    assert_exactly_once(job)


@pytest.mark.fault
def test_a_broker_that_drops_its_connections_in_mid_job_does_no_harm(submit: Submit) -> None:
    job = submit(SLOW, 600)
    broker = redis.Redis.from_url(settings.BROKER_URL)
    with worker():
        wait_until(lambda: fresh(job).episodes_done > 0, "episodes are recorded")
        broker.flushall()
        broker.execute_command("CLIENT", "KILL", "SKIPME", "yes")
        wait_until(lambda: fresh(job).over, "the job is over")
        later = submit(SLOW, 20)
        wait_until(lambda: fresh(later).over, "a job submitted afterwards is over")
    assert_exactly_once(job)
    assert_exactly_once(later)


def test_a_job_is_queued_even_if_nobody_is_there(submit: Submit) -> None:
    job = submit(SLOW, 10)
    assert fresh(job).state == Job.State.QUEUED
    assert job.shards.get().sent is not None


SENDS = """
import django
django.setup()
from apps.queue import enqueue
enqueue("evaluate.shards", "1")
print("went on")
"""


def test_a_broker_that_hangs_does_not_hold_up_who_sends(owner: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:
        address = f"redis://127.0.0.1:{hung.getsockname()[1]}/0"
        said = warm.run("web", [sys.executable, "-c", SENDS], env=environment(BROKER_URL=address), cwd=ROOT)
    assert "The broker did not take evaluate.shards" in said.stdout + said.stderr
    assert said.stdout.endswith("went on\n")


SENDS_MANY = """
import time
import django
django.setup()
from apps.queue import enqueue
began = time.monotonic()
for number in range(4):
    enqueue("evaluate.shards", str(number))
print(time.monotonic() - began)
"""


def test_a_broker_that_hangs_holds_up_many_messages_no_longer_than_one(owner: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:
        address = f"redis://127.0.0.1:{hung.getsockname()[1]}/0"
        said = warm.run("web", [sys.executable, "-c", SENDS_MANY], env=environment(BROKER_URL=address), cwd=ROOT)
    assert (said.stdout + said.stderr).count("The broker did not take") == 1
    assert float(said.stdout.splitlines()[-1]) < 15
