"""Faults of the infrastructure use up no attempts: the work rests, for longer each time, and goes on."""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest
import redis
from django.db import InternalError, OperationalError, connection
from django.db.models.functions import Now
from django.utils import timezone
from psycopg import errors as postgres

from apps.faults import infrastructure_fault, is_disk_full, may_be_of_the_work
from apps.jobs import leases
from apps.jobs.leases import recovery
from apps.jobs.models import Job, JobEvent, Shard
from gem.agents import make_agent
from gem.errors import InvalidArgument
from gem.processes import ending_in_words
from gem.rollout import rollout
from gemweb.local.servers.postgres import Postgres
from tests.live.test_restarts import Server, guarded, manage
from tests.workers.environments import SLOW
from tests.workers.processes import environment, wait_until, worker
from tests.workers.records import Submit, assert_exactly_once, fresh, play_out
from workers import evaluate
from workers.playing.lease import Lease

NO_ROOM = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER no_room BEFORE INSERT ON episodes_turn FOR EACH STATEMENT EXECUTE FUNCTION refuse();
"""
ROOM = "DROP TRIGGER no_room ON episodes_turn; DROP FUNCTION refuse();"
"""Postgres itself says that its disk is full, on one table."""


def execute(statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statements)


def rested(job: Job) -> None:
    """Let the pauses of the job's shards be over."""
    job.shards.update(rests_until=Now())


def test_a_full_disk_fails_no_job_and_the_pauses_grow(submit: Submit) -> None:
    job = submit(SLOW, 20)
    pauses = []
    execute(NO_ROOM)
    try:
        for _ in range(2 * 3):
            evaluate.shards(job.pk)
            shard = job.shards.get()
            assert (shard.state, shard.attempt) == (Shard.State.QUEUED, 0)
            assert shard.reason == "The disk of the database is full."
            assert leases.claim() is None, "it rests"
            assert shard.rests_until is not None
            pauses.append((shard.rests_until - timezone.now()).total_seconds())
            rested(job)
    finally:
        execute(ROOM)
    assert pauses == sorted(pauses)
    assert pauses[-1] > 10 * pauses[0] > 0
    assert "nothing is lost. The disk of the database is full." in job.events.filter(kind="requeued")[0].text
    play_out(job)
    assert_exactly_once(job)
    assert job.shards.get().setbacks == 0, "progress makes the next pause short again"


def test_a_shard_that_rests_keeps_no_other_waiting(submit: Submit) -> None:
    first, second = submit(SLOW, 5), submit(SLOW, 5)
    claim = leases.claim()
    assert claim is not None
    leases.postpone(claim, "The disk is full.")
    other = leases.claim()
    assert other is not None
    assert {claim.job_id, other.job_id} == {first.pk, second.pk}


def test_workers_are_woken_when_the_pause_is_over(submit: Submit) -> None:
    job = submit(SLOW, 5)
    claim = leases.claim()
    assert claim is not None
    leases.postpone(claim, "The disk is full.")
    assert recovery.send_again() == 0
    job.shards.update(rests_until=Now(), sent=Now() - timedelta(hours=1))
    assert recovery.send_again() == 1


def test_attempts_count_anew_after_progress(submit: Submit) -> None:
    job = submit(SLOW, 10)
    for _ in range(5):
        claim = leases.claim()
        assert claim is not None
        leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:1])))
        expire(job)
    assert not fresh(job).over, "five workers died, and each one had recorded something"
    for _ in range(2):
        assert leases.claim() is not None
        expire(job)
    assert fresh(job).state == Job.State.FAILED, "three attempts ended without progress since the last one"
    assert "stopped responding" in fresh(job).reason


def expire(job: Job) -> None:
    """The worker dies, and the reaper notices."""
    job.shards.update(lease_until=Now())
    recovery.reap()


def test_a_lease_that_a_restart_of_postgres_ended_costs_no_attempt(submit: Submit) -> None:
    job = submit(SLOW, 5)
    for _ in range(5):
        assert leases.claim() is not None
        job.shards.update(lease_until="2020-01-01T00:00Z")  # before this Postgres was started
        recovery.reap()
        rested(job)
    shard = job.shards.get()
    assert (shard.state, shard.attempt, shard.reason) == (Shard.State.QUEUED, 0, "The database was restarted.")


def meets(job: Job, error: Exception) -> None:
    """A worker claims the job's shard and meets a fault."""
    claim = leases.claim()
    assert claim is not None
    with Lease(claim, lambda: False):
        raise error
    rested(job)


def test_work_that_meets_nothing_but_a_fault_of_its_own_is_not_done_for_ever(submit: Submit) -> None:
    job = submit(SLOW, 5)
    job.shards.update(setbacks=leases.MAX_SETBACKS)
    meets(job, OSError(errno.ENOSPC, "No space left on device"))
    assert (job.shards.get().attempt, job.shards.get().setbacks) == (0, leases.MAX_SETBACKS + 1), "a full disk is not"
    too_many = OSError(errno.EMFILE, "Too many open files")
    meets(job, too_many)
    assert (job.shards.get().attempt, job.shards.get().setbacks) == (1, 0)
    meets(job, too_many)
    assert (job.shards.get().attempt, job.shards.get().setbacks) == (1, 1)
    job.shards.update(attempt=2, setbacks=leases.MAX_SETBACKS - 1)
    meets(job, too_many)
    assert fresh(job).state == Job.State.FAILED
    assert "This process has too many open files." in fresh(job).reason


def raised(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


def test_a_job_whose_environment_is_gone_fails_with_a_sentence(submit: Submit) -> None:
    job = submit(SLOW, 3)
    Job.objects.filter(pk=job.pk).update(spec={**job.spec, "env_ids": ["game:Gone-v0"]})
    while not fresh(job).over:
        with pytest.raises(InvalidArgument, match="No environment is registered as 'game:Gone-v0'"):
            evaluate.shards(job.pk)
    assert fresh(job).state == Job.State.FAILED
    assert "No environment is registered as 'game:Gone-v0'" in fresh(job).reason
    assert "validation error" not in fresh(job).reason


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (raised(OperationalError(), postgres.DiskFull()), "The disk of the database is full."),
        (raised(OperationalError("the connection is lost"), None), "The database was not available."),
        (raised(InternalError(), postgres.TransactionTimeout()), "A write took too long"),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full."),
        (OSError(errno.EMFILE, "Too many open files"), "This process has too many open files."),
        (raised(RuntimeError("cannot save"), OSError(errno.ENOSPC, "")), "The disk is full."),
        (redis.ConnectionError(), "The broker was not available."),
    ],
)
def test_what_is_wrong_is_said_in_words(error: Exception, words: str) -> None:
    assert (infrastructure_fault(error) or "").startswith(words)
    assert is_disk_full(error) == ("full" in words)
    assert may_be_of_the_work(error) == words.startswith(("A write took", "This process has"))


@pytest.mark.parametrize("error", [ValueError("of the work"), OSError("the wire is cut"), InternalError(), KeyError()])
def test_other_errors_are_of_the_work(error: Exception) -> None:
    assert infrastructure_fault(error) is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-signal.SIGKILL, "was killed (SIGKILL), as the system does when memory runs out"),
        (-signal.SIGSEGV, "crashed (SIGSEGV)"),
        (-signal.SIGTERM, "was ended from outside (SIGTERM)"),
        (-40, "was ended from outside (signal 40)"),
        (7, "stopped unexpectedly, with exit code 7"),
    ],
)
def test_how_a_process_ended_is_said_in_words(code: int, words: str) -> None:
    assert ending_in_words(code) == words


@pytest.mark.fault
@pytest.mark.usefixtures("owner")
def test_restarts_of_postgres_cost_no_attempt() -> None:
    with guarded() as (guard, folder):
        postgres = Server(Postgres(folder / "postgres", folder / "postgres-password"), guard)
        url = postgres.server.url
        manage(environment(DATABASE_URL=url), "migrate", "-v", "0")
        manage(environment(DATABASE_URL=url), "shell", "-c", SUBMIT)
        with worker(DATABASE_URL=url):
            for restart in range(1, 4):
                wait_until(reached(url, restart * 150), "episodes are recorded")
                postgres.kill()
                postgres.start()
            done = "SELECT count(*) FROM jobs_job WHERE state = 'done'"
            wait_until(lambda: asked(url, done) == 1, "the job is over")
        assert asked(url, "SELECT count(DISTINCT slot) FROM episodes_episode") == EPISODES
        failed = f"SELECT count(*) FROM jobs_jobevent WHERE kind = '{JobEvent.Kind.REQUEUED}' AND text LIKE '%attempt%'"
        assert asked(url, failed) == 0


EPISODES = 2_000
SUBMIT = f"""
from apps.accounts.models import User
from apps.jobs import operations
from gem.evaluation.spec import EvaluationSpec
spec = {{"agent": "random", "env_ids": ["game:Sudoku-v0-hard"], "episodes_per_env": {EPISODES}}}
operations.submit(User.objects.create_user("somebody"), EvaluationSpec.model_validate(spec))
"""


def reached(url: str, episodes: int) -> Callable[[], bool]:
    """Whether so many episodes are recorded."""
    return lambda: asked(url, "SELECT episodes_done FROM jobs_job") >= episodes


def asked(url: str, query: str) -> int:
    """The number that a query gives; -1 while the database is away."""
    try:
        with psycopg.connect(url, connect_timeout=2) as there:
            row = there.execute(query.encode()).fetchone()
    except psycopg.OperationalError:
        return -1
    return -1 if row is None else int(row[0])
