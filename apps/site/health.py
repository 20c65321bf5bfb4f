"""Whether every part works, and what to do where one does not."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

import gem
from apps import queue
from gem.errors import InvalidArgument
from gem.sandbox import levels, shell
from gem.tools.mcp import config as mcp_config

State = Literal["ok", "warn", "fail"]

QUEUES = {
    "play": ("Play workers", "python -m workers.play", "Agents do not move in live episodes."),
    "evaluate": ("Evaluation workers", "celery -A gemweb worker -Q evaluate,verify", "Jobs stay in the queue."),
    "train": ("Training workers", "celery -A gemweb worker -Q train -c 1 -n train@%h", "Trainings stay in the queue."),
    "reap": (
        "Scheduler",
        "celery -A gemweb worker -Q reap -P solo -n scheduler@%h --beat",
        "Work of a worker that died is not taken up again.",
    ),
}
"""The queues that a whole site serves: title, the command that starts a worker, what happens without one."""


@dataclass(frozen=True, slots=True)
class Check:
    """One part."""

    name: str
    title: str
    state: State
    said: str
    """What was found."""
    do: str = ""
    """What to do about it; empty if all is well."""
    word: str = "not known"
    """The state in words, where it is a warning."""
    details: tuple[str, ...] = ()
    """For those who run the site: hosts and processes."""


@dataclass(frozen=True, slots=True)
class Report:
    """All checks."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed; a warning is no failure."""
        return all(check.state != "fail" for check in self.checks)

    @property
    def has_database(self) -> bool:
        """Whether pages that read the database can be shown."""
        return all(check.state != "fail" for check in self.checks if check.name == "database")


def report() -> Report:
    """Look at every part now; a part that does not answer takes at most a few seconds."""
    others = (*check_workers(), check_sandbox(), *check_mcp(), check_versions())
    return Report((*readiness().checks, *others))


def readiness() -> Report:
    """What a web process needs to show pages."""
    database = check_database()
    migrations = (check_migrations(),) if database.state == "ok" else ()
    return Report((database, *migrations, check_broker()))


def check_database() -> Check:
    """Postgres answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version'), pg_database_size(current_database())")
            version, size = cursor.fetchone()
    except DatabaseError as error:
        do = "Start Postgres, or correct DATABASE_URL. Nothing is lost: pages work again as soon as it answers."
        return Check("database", "Database", "fail", "Postgres does not answer.", do, details=(str(error).strip(),))
    return Check("database", "Database", "ok", f"Postgres {version.split()[0]}", details=(f"{size / 1e6:,.0f} MB",))


def check_migrations() -> Check:
    """The tables are those that this version expects."""
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    unknown = set(executor.loader.applied_migrations) - set(executor.loader.disk_migrations)
    if unknown:
        names = tuple(sorted(".".join(migration) for migration in unknown))
        do = "This is an older version than the one that was here: install the newer one, or restore a backup."
        return Check("migrations", "Tables", "warn", "of a newer version", do, "newer", names)
    if not pending:
        return Check("migrations", "Tables", "ok", "as this version expects")
    names = tuple(f"{migration.app_label}.{migration.name}" for migration, _ in pending)
    do = "Run `python manage.py migrate`, then restart web and workers."
    return Check("migrations", "Tables", "fail", f"{len(pending)} migrations are not applied.", do, details=names)


def check_broker() -> Check:
    """Valkey answers."""
    try:
        info = _broker().info("server")
        waiting = {name: _broker().llen(name) for name in QUEUES}
    except redis.RedisError as error:
        do = "Start Valkey, or correct VALKEY_URL. Jobs and episodes are safe in Postgres and go on when it answers."
        return Check("broker", "Broker", "fail", "Valkey does not answer.", do, details=(str(error),))
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = info.get("valkey_version", info.get("redis_version", "of unknown version"))
    details = tuple(f"{count} messages for {name}" for name, count in waiting.items() if count)
    return Check("broker", "Broker", "ok", f"{name} {version}", details=details)


def check_workers() -> list[Check]:
    """Somebody serves every queue."""
    try:
        alive = queue.workers_alive()
    except redis.RedisError:
        unknown: Callable[[str], Check] = lambda name: Check(  # noqa: E731 (one shape for each queue)
            name, QUEUES[name][0], "warn", "not known: the broker does not answer"
        )
        return [unknown(name) for name in QUEUES]
    return [_check_queue(name, [worker for worker in alive if worker.queue == name]) for name in QUEUES]


def _check_queue(name: str, workers: list[queue.Worker]) -> Check:
    title, command, effect = QUEUES[name]
    if not workers:
        return Check(name, title, "fail", f"Nobody serves this queue. {effect}", f"Start one: `{command}`")
    youngest = min(worker.age for worker in workers)
    count = "1 process" if len(workers) == 1 else f"{len(workers)} processes"
    details = tuple(f"{worker.host}, process {worker.pid}, {worker.age:.0f} s ago" for worker in workers)
    return Check(name, title, "ok", f"{count}, last heartbeat {youngest:.0f} s ago", details=details)


def check_sandbox() -> Check:
    """Untrusted programs can be run here; asking takes no time, the levels are tried in the background."""
    title = "Sandbox"
    found = levels.choice_if_known()
    if found is None:
        return Check("sandbox", title, "warn", "The levels are being tried.", "Look again in a moment.")
    details = (*(f"{probe.level}: {probe.message}" for probe in found.probes), *_terminals())
    if found.level == "disabled":
        do = "Everything else works. docs/sandbox.md says what a machine needs; `gemweb sandbox` what was tried here."
        return Check("sandbox", title, "warn", "Untrusted programs are not run.", do, "off", details)
    return Check("sandbox", title, "ok", f"Untrusted programs run at the level {found.level}.", details=details)


def _terminals() -> tuple[str, ...]:
    """How commands of terminals are confined, once that is known; who asks does not wait for it."""
    said = shell.confinement_if_known()
    return () if said is None else (f"terminals: {said or shell.obstacle()}",)


def check_mcp() -> list[Check]:
    """What each registered MCP server may do; nothing where there is none."""
    title = "MCP servers"
    try:
        servers = mcp_config.registered_servers()
    except InvalidArgument as error:
        return [
            Check("mcp", title, "warn", "The file of MCP servers cannot be read.", "Correct it.", "off", (str(error),))
        ]
    if not servers:
        return []
    details = tuple(f"{name}: {server.in_words()}" for name, server in servers.items())
    free = [name for name, server in servers.items() if server.command and server.confinement is None]
    if free:
        do = 'They can do what a worker can. Take "confined": false out of the file if they work without it.'
        return [Check("mcp", title, "warn", f"Not confined: {', '.join(free)}.", do, "open", details)]
    return [Check("mcp", title, "ok", f"{len(servers)} registered; commands are confined.", details=details)]


def check_versions() -> Check:
    """What runs here."""
    said = f"gemweb {settings.VERSION}, engine {gem.__version__}, Python {platform.python_version()}"
    return Check("versions", "Versions", "ok", said)


def as_json(found: Report) -> dict[str, Any]:
    """For machines; without hosts and processes, because anybody may ask."""
    return {
        "ok": found.ok,
        "version": settings.VERSION,
        "checks": {check.name: {"state": check.state, "said": check.said, "do": check.do} for check in found.checks},
    }


@functools.cache
def _broker() -> redis.Redis:
    return redis.Redis.from_url(settings.BROKER_URL, socket_timeout=2, socket_connect_timeout=2)
