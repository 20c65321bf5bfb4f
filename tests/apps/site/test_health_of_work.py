"""The health page is not green while work would fail or stand still: space, transactions, locks, the reaper, leases."""

from __future__ import annotations

import errno
import json
import re
import threading
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from psycopg import errors as postgres
from pytest_django import Settings

from apps import queue
from apps.accounts.models import User
from apps.accounts.request_limits import RequestLimitMiddleware
from apps.agents.models import Agent, Upload
from apps.episodes.models import PendingTurn
from apps.jobs import leases, operations
from apps.jobs.models import Shard
from apps.play.models import Show
from apps.play.shows import operations as shows
from apps.site import figures, health, views
from gem.evaluation.spec import EvaluationSpec
from workers import reap

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_notes() -> Iterator[None]:
    queue._valkey().delete(f"note:{queue.DISK_FULL}", f"note:{queue.REAPED}")
    yield
    queue._valkey().delete(f"note:{queue.DISK_FULL}", f"note:{queue.REAPED}")


def check(name: str) -> health.Check:
    return next(check for check in health.report().checks if check.name == name)


def test_space_is_warned_about_before_it_is_short(settings: Settings, client: Client) -> None:
    settings.FREE_MEGABYTES, settings.FREE_PERCENT, settings.LEAST_MEGABYTES = 0, 0, 0
    assert check("space").state == "ok"
    settings.FREE_MEGABYTES = 10**9
    assert (check("space").state, check("space").word) == ("warn", "short")
    settings.FREE_MEGABYTES, settings.FREE_PERCENT = 0, 101
    assert check("space").state == "warn"
    settings.LEAST_MEGABYTES = 10**9
    found = json.loads(client.get("/health.json").content)
    assert (found["ok"], found["checks"]["space"]["state"]) == (False, "fail")
    assert client.get("/health.json").status_code == 503
    assert client.get("/health/ready").status_code == 200, "pages can still be read"


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), OperationalError("could not extend file")]
)
def test_the_page_of_a_full_disk_says_so_and_the_health_page_too(
    error: Exception, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(error, OperationalError):
        error.__cause__ = postgres.DiskFull()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(views.library, "groups", fail)
    client.raise_request_exception = False
    answer = client.get("/docs/")
    assert answer.status_code == 507
    assert "has no space left" in answer.content.decode()
    assert check("space").finding == "A disk is full: a write has just failed."


@pytest.mark.parametrize(
    ("cause", "status"),
    [
        (None, 503),
        (postgres.ConnectionTimeout(), 503),
        (postgres.TooManyConnections(), 503),
        (postgres.AdminShutdown(), 503),
        (postgres.QueryCanceled(), 500),
        (postgres.DeadlockDetected(), 500),
    ],
)
@pytest.mark.parametrize("address", ["/docs/", "/api/v1/environments"])
def test_a_database_that_is_away_is_said_and_programs_may_try_again(
    address: str, cause: Exception | None, status: int, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = OperationalError("couldn't get a connection after 8.00 sec")
    error.__cause__ = cause

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(RequestLimitMiddleware, "__call__", fail)
    client.raise_request_exception = False
    answer = client.get(address)
    assert answer.status_code == status
    assert answer.get("Retry-After") == ("5" if status == 503 else None)
    assert ("cannot be reached" in answer.content.decode()) == (status == 503)


def test_another_error_is_no_full_disk(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("of ours")

    monkeypatch.setattr(views.library, "groups", fail)
    client.raise_request_exception = False
    assert client.get("/docs/").status_code == 500


def test_a_search_for_lost_work_that_does_not_end_is_said() -> None:
    assert (check("recovery").state, check("recovery").word) == ("warn", "not known")
    reap.everything()
    assert check("recovery").state == "ok"
    queue._valkey().set(f"note:{queue.REAPED}", 1, ex=queue._NOTE_SECONDS - 3600)
    assert check("recovery").state == "fail"
    assert re.search(r"36\d\d s ago", check("recovery").finding)


def test_a_search_that_failed_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("whatever it is")

    done: list[str] = []
    monkeypatch.setattr(reap, "DUTIES", (fail, lambda: done.append("the next duty")))
    with pytest.raises(ValueError, match="whatever"):
        reap.everything()
    assert done == ["the next duty"]
    assert queue.seconds_since(queue.REAPED) is None


def test_expired_leases_and_last_attempts_are_counted() -> None:
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    spec = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=3)
    operations.submit(User.objects.create_user("ada"), spec)
    queue.note(queue.REAPED)
    assert leases.claim() is not None
    assert check("recovery").state == "ok"
    Shard.objects.update(attempt=3)
    assert check("recovery").word == "at risk"
    Shard.objects.update(lease_until="2020-01-01T00:00Z")
    assert check("recovery").word == "waits"
    assert figures.load().expired_leases == 1


def test_turns_uploads_and_live_episodes_of_dead_workers_are_counted() -> None:
    long_ago = {"lease_until": "2020-01-01T00:00Z", "lease_token": uuid4(), "attempt": 1}
    agent = Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})[0]
    episode = shows.start("game:GuessTheNumber-v0-easy", agent)
    Show.objects.update(**long_ago)
    PendingTurn.objects.create(episode=episode, number=1, action="", **long_ago)
    Upload.objects.create(slug="one", owner=User.objects.create_user("ada"), **long_ago)
    assert figures.load().expired_leases == 3
    PendingTurn.objects.update(problem="It was refused.")
    Upload.objects.update(problem="It was refused.")
    assert figures.load().expired_leases == 1


def test_figures_are_for_those_who_may_see_the_metrics(client: Client, settings: Settings) -> None:
    queue.note(queue.REAPED)
    assert "figures" not in client.get("/health.json").json()
    settings.METRICS_TOKEN = "a token"
    told = Client().get("/health.json", headers={"Authorization": "Bearer a token"}).json()["figures"]
    assert "figures" not in Client().get("/health.json", headers={"Authorization": "Bearer "}).json()
    assert {"longest_transaction_seconds", "blocked_backends", "expired_leases", "last_attempts"} <= told.keys()
    assert told["seconds_since_reap"] is not None
    assert [name for name in told if name.startswith("free_bytes of ")]
    client.force_login(User.objects.create_user("ada"))
    assert "figures" not in client.get("/health.json").json()
    client.force_login(User.objects.create_user("staff", is_staff=True))
    assert client.get("/health.json").json()["figures"].keys() == told.keys()


def test_what_waits_is_counted_for_each_kind_of_worker(client: Client) -> None:
    spec = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=3)
    ada = User.objects.create_user("ada", is_staff=True)
    for _ in range(2):
        operations.submit(ada, spec)
    Upload.objects.create(slug="one", owner=ada)
    shows.start("game:GuessTheNumber-v0-easy", Agent.objects.get(slug="random"))
    counts = {
        "play": {"turns": 0, "live episodes": 1},
        "evaluate": {"shards": 2, "uploads": 1},
        "train": {"trainings": 0},
    }
    assert json.loads(client.get("/health.json").content)["waiting"] == counts
    assert "Waiting: 2 shards, 1 upload." in check("evaluate").finding
    assert leases.claim() is not None
    assert figures.waiting()["evaluate"]["shards"] == 1
    client.force_login(ada)
    metrics = client.get("/metrics").content.decode()
    assert 'gemweb_waiting{kind="shards",queue="evaluate"} 1.0' in metrics
    assert "Waiting: 1 live episode." in client.get("/health/").content.decode()


def test_the_figures_are_metrics(client: Client) -> None:
    reap.everything()
    client.force_login(User.objects.create_user("boss", is_staff=True))
    text = client.get("/metrics").content.decode()
    names = {line.partition(" ")[0].partition("{")[0] for line in text.splitlines() if line.startswith("gemweb_")}
    assert names == {
        "gemweb_free_bytes", "gemweb_longest_transaction_seconds", "gemweb_blocked_backends",
        "gemweb_seconds_since_reap", "gemweb_expired_leases", "gemweb_shards_on_last_attempt",
        "gemweb_waiting",
    }  # fmt: skip
    free = [line for line in text.splitlines() if line.startswith("gemweb_free_bytes")]
    assert all(float(line.rpartition(" ")[2]) > 0 for line in free)


@pytest.mark.django_db(transaction=True)
def test_whoever_waits_for_a_lock_is_counted_and_fails_the_page_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    user = User.objects.create_user("ada")

    def wait() -> None:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=user.pk)
        connection.close()

    waiting = threading.Thread(target=wait)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)
        waiting.start()
        until(lambda: figures.load().blocked == 1)
        assert check("transactions").state == "ok"
        monkeypatch.setattr(health, "MIN_TRANSACTION_SECONDS", 0.0)
        assert check("transactions").state == "fail"
    waiting.join()


def until(condition: Callable[[], bool]) -> None:
    """Wait for another thread, for a minute at most."""
    pause = threading.Event()
    for _ in range(6000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen within a minute")
