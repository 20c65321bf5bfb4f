"""The connections of web, play and worker processes are limited, at both ends; those of commands are not.

A process of a worker keeps its pool of them from task to task.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from celery.fixups.django import DjangoWorkerFixup
from celery.signals import task_postrun, task_prerun
from django.db import connection

from gemweb.celery import app
from tests import warm
from tests.services import ROOT
from tests.workers.processes import environment

LEASE = 9
LOOK = """
import json, os, socket
import django
django.setup()
from django.db import connection
found = {}
names = ("transaction_timeout", "idle_in_transaction_session_timeout", "application_name", "tcp_keepalives_idle",
         "tcp_keepalives_count", "tcp_user_timeout")
with connection.cursor() as cursor:
    for name in names:
        cursor.execute(f"SHOW {name}")
        found[name] = cursor.fetchone()[0]
with socket.socket(fileno=os.dup(connection.connection.fileno())) as line:
    found["client keepalive"] = line.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    found["client idle"] = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
    found["client user timeout"] = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
print(json.dumps(found))
"""
COMMAND = f"""
import runpy, sys
sys.argv[1:] = ["shell", "-v", "0", "-c", {LOOK!r}]
runpy.run_path("manage.py", None, "__main__")
"""


def limits(program: str) -> dict[str, Any]:
    """The limits of a process's connection, as Postgres and the kernel have them."""
    env = environment(LEASE_SECONDS=str(LEASE))
    del env["TRANSACTION_SECONDS"]  # the tests' own
    done = warm.run("web", [sys.executable, "-c", program], cwd=ROOT, env=env)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name the options of a socket otherwise")
@pytest.mark.usefixtures("transactional_db")
def test_transactions_and_silence_are_limited_at_both_ends() -> None:
    assert limits(LOOK) == {
        "transaction_timeout": "3s",
        "idle_in_transaction_session_timeout": "3s",
        "application_name": "gemweb",
        "tcp_keepalives_idle": "3",
        "tcp_keepalives_count": "3",
        "tcp_user_timeout": "9000",
        "client keepalive": 1,
        "client idle": 3,
        "client user timeout": 9000,
    }


@pytest.mark.usefixtures("transactional_db")
def test_a_command_takes_as_long_as_it_takes() -> None:
    found = limits(COMMAND)
    assert found["transaction_timeout"] == found["idle_in_transaction_session_timeout"] == "0"
    assert found["application_name"] != "gemweb"
    assert found["tcp_user_timeout"] == "9000"


@pytest.mark.usefixtures("transactional_db")
def test_a_task_gives_its_connection_back_and_closes_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = list[str]()
    monkeypatch.setattr(connection, "close_pool", lambda: closed.append(connection.alias))
    task = next(iter(app.tasks.values()))
    celery = DjangoWorkerFixup(app)  # what Celery does in each process of a worker
    celery.worker = SimpleNamespace(pool_cls="prefork")
    for signal, of_celery in ((task_prerun, celery.on_task_prerun), (task_postrun, celery.on_task_postrun)):
        connection.ensure_connection()
        of_celery(sender=task)
        signal.send(sender=task)
        assert connection.connection is None, signal
    assert closed == []
