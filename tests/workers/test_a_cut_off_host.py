"""A second host whose link is cut in the middle of a write: its locks end, and the first host finishes the job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psutil
import psycopg
import pytest

from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running
from gemweb.local.servers.postgres import Postgres
from tests.live.test_restarts import guarded, manage
from tests.services import ROOT
from tests.workers.processes import environment, wait_until, worker

pytestmark = pytest.mark.fault

HERE, THERE = "10.213.77.1", "10.213.77.2"
SPACE, LINK = f"gemweb{os.getpid()}", f"gw{os.getpid()}"
"""A network namespace for the second host, and its link to this one."""
LEASE_SECONDS = 6
LIMITS = {"LEASE_SECONDS": str(LEASE_SECONDS), "TRANSACTION_SECONDS": "2", "SILENCE_SECONDS": str(LEASE_SECONDS)}
"""What a site has by default, with shorter leases."""
EPISODES = 120
SUBMIT = f"""
from apps.accounts.models import User
from apps.jobs import operations
from gem.evaluation.spec import EvaluationSpec
spec = {{"agent": "random", "env_ids": ["game:GuessTheNumber-v0-easy"], "episodes_per_env": {EPISODES}}}
operations.submit(User.objects.create_user("somebody"), EvaluationSpec.model_validate(spec))
"""
PLAY = "import django; django.setup(); from workers import evaluate; evaluate.shards('')"


@contextmanager
def second_host() -> Iterator[None]:
    """A network namespace at the other end of a link; skipped where this is not allowed."""
    steps = (
        f"netns add {SPACE}",
        f"link add {LINK} type veth peer name {LINK}b netns {SPACE}",
        f"addr add {HERE}/24 dev {LINK}",
        f"link set {LINK} up",
        f"-n {SPACE} addr add {THERE}/24 dev {LINK}b",
        f"-n {SPACE} link set {LINK}b up",
        f"-n {SPACE} link set lo up",
    )
    try:
        for step in steps:
            if (reason := failure_of(step)) is not None:
                pytest.skip(f"a network namespace needs root and the program ip: {reason}")
        yield
    finally:
        failure_of(f"link del {LINK}")
        failure_of(f"netns del {SPACE}")


def failure_of(step: str) -> str | None:
    """Run a command of `ip`; why it failed, or None."""
    try:
        done = subprocess.run(["ip", *step.split()], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else None


class OpenPostgres(Postgres):
    """A server that the second host reaches too."""

    def start(self, guard: GuardProcess) -> Running:
        """Start it and wait until it answers."""
        self.prepare()
        with (self.data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {THERE}/32 scram-sha-256\n")
        service = self.service()
        command = [f"127.0.0.1,{HERE}" if word == "127.0.0.1" else word for word in service.command]
        running = Running(replace(service, command=command), guard)
        self.wait(running)
        return running


def asked(url: str, query: str) -> int:
    """The number that a query gives."""
    with psycopg.connect(url) as there:
        row = there.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.usefixtures("owner")
def test_a_host_that_is_cut_off_in_a_write_stops_nobody() -> None:
    with second_host(), guarded() as (guard, folder):
        postgres = OpenPostgres(folder / "postgres", folder / "postgres-password")
        postgres.start(guard)
        url = postgres.url
        manage(environment(DATABASE_URL=url), "migrate", "-v", "0")
        manage(environment(DATABASE_URL=url), "shell", "-c", SUBMIT)
        far = environment(
            DATABASE_URL=url.replace("127.0.0.1", HERE),
            VALKEY_URL=f"redis://{HERE}:9/0",
            BROKER_URL=f"redis://{HERE}:9/0",
            DJANGO_SETTINGS_MODULE="gemweb.settings",
            FREEZE_AT="copied",
            **LIMITS,
        )
        command = ["ip", "netns", "exec", SPACE, sys.executable, "-c", PLAY]
        reaper = worker(queues="reap", DATABASE_URL=url, **LIMITS)
        with reaper, subprocess.Popen(command, cwd=ROOT, env=far) as cut_off:
            try:
                host = psutil.Process(cut_off.pid)
                wait_until(lambda: host.status() == psutil.STATUS_STOPPED, "it is in the middle of a write")
                assert failure_of(f"link set {LINK} down") is None
                cut_at = asked(url, "SELECT extract(epoch FROM clock_timestamp()) * 1000")
                cut_off.send_signal(signal.SIGCONT)
                requeued = "SELECT {} FROM jobs_jobevent WHERE kind = 'requeued'"
                wait_until(lambda: asked(url, requeued.format("count(*)")) == 1, "its shard is for another host")
                requeued_at = asked(url, requeued.format("extract(epoch FROM at) * 1000"))
                assert requeued_at - cut_at < 2000 * LEASE_SECONDS, "in the time of the database"
                with worker(scheduler=False, DATABASE_URL=url, **LIMITS):
                    done = "SELECT count(*) FROM jobs_job WHERE state = 'done'"
                    wait_until(lambda: asked(url, done) == 1, "the first host finishes the job")
            finally:
                cut_off.kill()
        assert asked(url, "SELECT count(*) FROM episodes_episode") == EPISODES
        assert asked(url, "SELECT count(DISTINCT slot) FROM episodes_episode") == EPISODES
        sessions = f"SELECT count(*) FROM pg_stat_activity WHERE client_addr = '{THERE}'"
        wait_until(lambda: asked(url, sessions) == 0, "Postgres has given the cut-off host up")
