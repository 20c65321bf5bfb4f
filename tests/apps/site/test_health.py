"""The health page: what it says when all is well, and when a part is gone."""

import json
import threading
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps import queue
from apps.accounts.models import User
from apps.site import health
from gem.sandbox import levels

pytestmark = pytest.mark.django_db


def state_of(name: str) -> str:
    return next(check.state for check in health.report().checks if check.name == name)


def test_the_database_the_tables_and_the_broker_work() -> None:
    assert [state_of(name) for name in ("database", "migrations", "broker")] == ["ok", "ok", "ok"]


def test_a_worker_that_beats_is_alive_until_its_lease_would_end() -> None:
    queue.beat("nobody-else")
    (worker,) = [worker for worker in queue.workers_alive() if worker.queue == "nobody-else"]
    assert worker.age < 2


def test_a_queue_without_workers_says_what_to_start(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health.QUEUES, "nobody", ("Nobody", "start nobody", "Nothing happens."))
    answer = client.get("/health.json")
    found = json.loads(answer.content)["checks"]["nobody"]
    assert answer.status_code == 503
    assert found["state"] == "fail"
    assert "start nobody" in found["do"]


def test_a_broker_that_is_away_is_said_and_everything_else_still_shown(client: Client, settings: Settings) -> None:
    health._broker.cache_clear()
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    try:
        answer = client.get("/health/")
    finally:
        health._broker.cache_clear()
    assert answer.status_code == 503
    assert "Valkey does not answer." in answer.content.decode()
    assert "Postgres" in answer.content.decode()


def test_machines_need_no_session(client: Client) -> None:
    answer = client.get("/health.json")
    assert answer.status_code in {200, 503}
    assert "sessionid" not in answer.cookies


def test_hosts_and_processes_are_for_staff(client: Client) -> None:
    queue.beat("play")
    host = next(worker.host for worker in queue.workers_alive() if worker.queue == "play")
    assert f"{host}, process" not in client.get("/health/").content.decode()
    client.force_login(User.objects.create_user("boss", is_staff=True))
    assert f"{host}, process" in client.get("/health/").content.decode()


def sandbox(monkeypatch: pytest.MonkeyPatch, choice: levels.LevelChoice | None) -> health.Check:
    if choice is not None and levels._choice_thread is not None:
        levels._choice_thread.join()  # it would put its own choice in the place of this one
    monkeypatch.setattr(levels, "_choice", choice)
    return next(check for check in health.report().checks if check.name == "sandbox")


def test_the_level_of_the_sandbox_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sandbox(monkeypatch, levels.LevelChoice("landlock", (levels.Probe("full", False, "no"),), ""))
    assert (found.state, found.finding) == ("ok", "Untrusted programs run at level landlock.")
    assert found.details[0] == "full: no"


def test_a_site_without_a_sandbox_works_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sandbox(monkeypatch, levels.LevelChoice("disabled", (), "why"))
    assert (found.state, found.word) == ("warn", "off")
    assert "gemweb sandbox" in found.remedy


def test_the_page_does_not_wait_for_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    monkeypatch.setattr(levels, "_choice_thread", None)
    monkeypatch.setattr(levels, "choose", lambda: go_on.wait(60) and levels.LevelChoice("full", (), ""))
    found = sandbox(monkeypatch, None)
    assert (found.state, found.finding) == ("warn", "The levels are being tested.")
    go_on.set()
    thread = levels._choice_thread
    assert thread is not None
    thread.join()
    assert next(check.state for check in health.report().checks if check.name == "sandbox") == "ok"


def test_what_each_mcp_server_may_do_is_shown_to_operators(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GEM_MCP_SERVERS", raising=False)
    assert "mcp" not in {check.name for check in health.report().checks}
    path = tmp_path / "mcp.json"
    monkeypatch.setenv("GEM_MCP_SERVERS", str(path))
    servers: dict[str, object] = {
        "time": {"command": "a"}, "web": {"command": "b", "confined": {"network": ["*:443"], "read": ["/srv"]}}
    }  # fmt: skip
    path.write_text(json.dumps({"mcpServers": servers}))
    found = next(check for check in health.report().checks if check.name == "mcp")
    assert found.state == "ok"
    assert found.details == ("time: confined, no network", "web: confined, network: *:443, reads /srv")
    path.write_text(json.dumps({"mcpServers": {**servers, "old": {"command": "c", "confined": False}}}))
    found = next(check for check in health.report().checks if check.name == "mcp")
    assert (found.state, found.finding) == ("warn", "Not confined: old.")
    assert "old: not confined" not in client.get("/health/").content.decode()
    client.force_login(User.objects.create_user("boss", is_staff=True))
    assert "old: not confined" in client.get("/health/").content.decode()
    path.write_text("nonsense")
    found = next(check for check in health.report().checks if check.name == "mcp")
    assert (found.state, found.word) == ("warn", "off")


def test_a_web_process_is_ready_without_any_worker(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health.QUEUES, "nobody", ("Nobody", "start nobody", "Nothing happens."))
    answer = client.get("/health/ready")
    assert answer.status_code == 200
    assert set(json.loads(answer.content)["checks"]) == {"database", "migrations", "broker"}
    assert client.get("/health.json").status_code == 503


def test_a_web_process_without_its_broker_lives_and_is_not_ready(client: Client, settings: Settings) -> None:
    health._broker.cache_clear()
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    try:
        assert client.get("/health/live").status_code == 200
        assert client.get("/health/ready").status_code == 503
    finally:
        health._broker.cache_clear()


def test_whoever_asks_again_and_again_is_answered_without_the_database(client: Client) -> None:
    """Monitors are not limited, and strangers may ask as they do."""
    first = client.get("/health/ready")
    with CaptureQueriesContext(connection) as asked:
        assert [client.get("/health/ready").content for _ in range(5)] == [first.content] * 5
    assert len(asked) == 0
    health.shared_readiness.forget()
    with CaptureQueriesContext(connection) as asked:
        assert client.get("/health/ready").status_code == 200
    assert len(asked) > 0


def test_a_monitor_does_not_wait_for_ever_for_the_report_of_another_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.05)
    with health.shared_readiness._lock:  # as while Postgres is frozen
        answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert json.loads(answer.content)["checks"]["database"]["said"] == "Postgres does not answer."
    assert client.get("/health/ready").status_code == 200


def test_machines_behind_the_proxy_are_not_sent_to_https(client: Client, settings: Settings) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/health/").status_code == 301
    assert client.get("/health/live").status_code == 200
    assert client.get("/health/ready").status_code == 200


def test_tables_of_a_newer_version_are_said(client: Client) -> None:
    MigrationRecorder(connection).record_applied("episodes", "9999_from_the_future")
    found = next(check for check in health.report().checks if check.name == "migrations")
    assert (found.state, found.finding) == ("warn", "The tables belong to a newer version.")
    assert found.details == ("episodes.9999_from_the_future",)
    assert client.get("/health/ready").status_code == 200
