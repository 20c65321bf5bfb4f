"""Health checks: the state of each part of the site, and what to do about a part that does not work."""

from __future__ import annotations

import functools
import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

import gem
from apps import queue
from apps.site import figures
from apps.squashed import half_applied, replaced, too_old
from gem.errors import InvalidArgument
from gem.sandbox import levels, shell
from gem.tools.mcp import config as mcp_config

State = Literal["ok", "warn", "fail"]
MEGABYTE = 10**6
FULL_SECONDS = 60.0
"""How long a write that failed on a full disk fails the report; the next one prolongs it."""
MIN_TRANSACTION_SECONDS = 30.0
"""A transaction or a wait for a lock that is shorter is no finding."""
LATE_SEARCHES, SEARCH_SECONDS = 3, 10.0
"""The searches for lost work that may be missed, and the seconds that one may take."""

QUEUES = {
    "play": ("Play workers", "python -m workers.play", "Agents cannot act in live episodes."),
    "evaluate": ("Evaluation workers", "celery -A gemweb worker -Q evaluate,verify", "Jobs stay in the queue."),
    "train": ("Training workers", "celery -A gemweb worker -Q train -c 1 -n train@%h", "Trainings stay in the queue."),
    "reap": (
        "Scheduler",
        "celery -A gemweb worker -Q reap -P solo -n scheduler@%h --beat",
        "The work of a worker that died is not given to another worker.",
    ),
}
"""The queues of a complete site: title, command that starts a worker, and what happens without one."""

SHARED_SECONDS = 1.0
"""For how long one report on the readiness answers every monitor."""
PATIENCE_SECONDS = 5.0
"""How long a monitor waits for a report that another one has asked for."""
NO_DATABASE = (
    "Start Postgres, correct DATABASE_URL, or raise max_connections of Postgres: the log says which. Nothing is lost: "
    "pages work again once Postgres answers."
)


@dataclass(frozen=True, slots=True)
class Check:
    """The state of one part of the site."""

    name: str
    title: str
    state: State
    finding: str
    """The result of the check in words."""
    remedy: str = ""
    """What to do about a problem; empty if there is none."""
    word: str = "not known"
    """The label of a warning."""
    details: tuple[str, ...] = ()
    """Hosts, processes and other facts, shown to the operators of the site only."""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    """The numbers that it has looked at, for monitoring; like details."""
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Of the workers of a queue: how much of each kind of work waits for them."""


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all checks."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed; a warning is not a failure."""
        return all(check.state != "fail" for check in self.checks)

    @property
    def has_database(self) -> bool:
        """Whether pages that read the database can be shown."""
        return all(check.state != "fail" for check in self.checks if check.name == "database")


def report() -> Report:
    """Check every part now. A part that does not answer delays the report by a few seconds at most."""
    needed = readiness()
    work = check_work() if needed.has_database else ()
    optional = (
        *check_workers(figures.waiting() if needed.has_database else {}),
        *work,
        check_sandbox(),
        *check_mcp(),
        check_versions(),
    )
    return Report((*needed.checks, check_space(), *optional))


class SharedReadiness:
    """Checks the readiness at most once a second, whoever asks how often.

    Requests of monitors are not limited, and wait in no lane. Without this, strangers who send as many could use up the
    connections to the database.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._report: Report | None = None
        self._made = 0.0

    def report(self) -> Report:
        """The report of the last second. Several that ask at once wait for the same one, but not for ever."""
        if not self._lock.acquire(timeout=PATIENCE_SECONDS):  # a frozen Postgres neither answers nor refuses
            return Report((Check("database", "Database", "fail", "Postgres does not answer.", NO_DATABASE),))
        try:
            if self._report is None or monotonic() - self._made > SHARED_SECONDS:
                self._report = readiness()
                self._made = monotonic()
            return self._report
        finally:
            self._lock.release()

    def forget(self) -> None:
        """Check anew for the next one who asks."""
        self._report = None


shared_readiness = SharedReadiness()


def readiness() -> Report:
    """Check the parts that a web process needs to show pages."""
    database = check_database()
    migrations = (check_migrations(),) if database.state == "ok" else ()
    return Report((database, *migrations, check_broker()))


def check_database() -> Check:
    """Check that Postgres answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version'), pg_database_size(current_database()), pg_is_in_recovery()"
            )
            version, size, is_read_only = cursor.fetchone()
    except DatabaseError as error:
        details = (str(error).strip(),)
        return Check("database", "Database", "fail", "Postgres does not answer.", NO_DATABASE, details=details)
    if is_read_only:
        remedy = "DATABASE_URL leads to a standby: promote it, or correct the address."
        return Check("database", "Database", "fail", "Postgres cannot be written to.", remedy)
    return Check("database", "Database", "ok", f"Postgres {version.split()[0]}", details=(f"{size / 1e6:,.0f} MB",))


def check_space() -> Check:
    """Check the free space of the disks that the site writes to, and whether a write has failed for want of space."""
    title = "Disk space"
    disks = figures.spaces()
    details = tuple(f"{disk.folder}: {disk.free / MEGABYTE:,.0f} MB, {disk.percent:.0f} % free" for disk in disks)
    free: dict[str, float | None] = {f"free_bytes of {disk.folder}": disk.free for disk in disks}
    check = functools.partial(Check, "space", title, details=details, figures=free)
    remedy = "Delete what is not needed (docs/deploy.md, What grows), or give it a larger disk. Nothing stored is lost."
    least = min(disks, key=lambda disk: disk.free)
    finding = f"{least.free / MEGABYTE:,.0f} MB free ({least.percent:.0f} %) for the {least.folder}."
    if least.free < settings.LEAST_MEGABYTES * MEGABYTE:
        return check("fail", f"No space left to work: {finding}", remedy)
    if _disk_was_full():
        return check("fail", "A disk is full: a write has just failed.", remedy)
    short = next((disk for disk in disks if disk.percent < settings.FREE_PERCENT), least)
    if short.percent < settings.FREE_PERCENT or short.free < settings.FREE_MEGABYTES * MEGABYTE:
        finding = f"{short.free / MEGABYTE:,.0f} MB free ({short.percent:.0f} %) for the {short.folder}."
        return check("warn", f"Space is short: {finding}", remedy, "short")
    return check("ok", finding)


def _disk_was_full() -> bool:
    """Whether a write has failed within the last minute because a disk was full; also one of another machine."""
    try:
        seconds = queue.seconds_since(queue.DISK_FULL)
    except redis.RedisError:
        return False
    return seconds is not None and seconds < FULL_SECONDS


def check_work() -> tuple[Check, ...]:
    """Check what keeps work from going on: locks in the database, a search for lost work that ends, its results."""
    load = figures.load()
    return (_check_locks(load), _check_recovery(load))


def _check_locks(load: figures.Load) -> Check:
    title, limit = "Transactions", max(2 * settings.TRANSACTION_SECONDS, MIN_TRANSACTION_SECONDS)
    details = (f"the longest has lasted {load.transaction_seconds:.0f} s", f"{load.blocked} wait for a lock")
    numbers = {"longest_transaction_seconds": round(load.transaction_seconds, 1), "blocked_backends": load.blocked}
    check = functools.partial(Check, "transactions", title, details=details, figures=numbers)
    if load.blocked and load.blocked_seconds > limit:
        finding = f"Something has waited for a lock for {load.blocked_seconds:.0f} s; pages and jobs may fail."
        remedy = "Look for a frozen process. Postgres ends its transaction after TRANSACTION_SECONDS."
        return check("fail", finding, remedy)
    if load.transaction_seconds > limit:
        finding = f"A transaction has lasted {load.transaction_seconds:.0f} s."
        remedy = "It is a command of `manage.py`, or your own program. Jobs wait if it locks their rows."
        return check("warn", finding, remedy, "long")
    return check("ok", "No transaction lasts long.")


def _check_recovery(load: figures.Load) -> Check:
    title = "Recovery of lost work"
    try:
        since = figures.seconds_since_reap()
    except redis.RedisError:
        return Check("recovery", title, "warn", "Not known, because the broker does not answer.")
    last = f"{load.last_attempts} on the last attempt" if load.last_attempts else "none on the last attempt"
    details = (f"{load.expired_leases} expired leases", f"shards: {last}")
    numbers = {"expired_leases": load.expired_leases, "last_attempts": load.last_attempts, "seconds_since_reap": since}
    check = functools.partial(Check, "recovery", title, details=details, figures=numbers)
    if since is None:
        return check("warn", "No search for lost work has ended yet.", "Check again in a moment.")
    if since > LATE_SEARCHES * settings.REAP_SECONDS + SEARCH_SECONDS:
        finding = f"The last search for lost work ended {since:.0f} s ago. The work of a process that dies waits."
        remedy = "Look at the log of the scheduler: its search fails or does not end."
        return check("fail", finding, remedy)
    if load.expired_leases:
        finding = f"Work of dead processes waits: {load.expired_leases}."
        remedy = "Check again in a moment. If it stays, look at the log of the scheduler."
        return check("warn", finding, remedy, "waits")
    if load.last_attempts:
        finding = f"Shards that fail their job if they fail once more: {load.last_attempts}."
        return check("warn", finding, "The logs of their jobs say what failed.", "at risk")
    return check("ok", f"The last search ended {since:.0f} s ago.")


def check_migrations() -> Check:
    """Check that the database has the tables of this version."""
    title = "Tables"
    between = half_applied(connection.alias)
    if between:
        return Check("migrations", title, "fail", "The tables are of an older version.", too_old(between))
    executor = MigrationExecutor(connection)
    pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    unknown = set(executor.loader.applied_migrations) - set(executor.loader.disk_migrations) - replaced()
    if unknown:
        names = tuple(sorted(".".join(migration) for migration in unknown))
        remedy = "A newer version of gemweb has run here. Install it again, or restore a backup."
        return Check("migrations", title, "warn", "The tables belong to a newer version.", remedy, "newer", names)
    if not pending:
        return Check("migrations", title, "ok", "All migrations are applied.")
    names = tuple(f"{migration.app_label}.{migration.name}" for migration, _ in pending)
    remedy = "Run `python manage.py migrate`, then restart the web and worker processes."
    finding = f"Migrations not applied: {len(pending)}."
    return Check("migrations", title, "fail", finding, remedy, details=names)


def check_broker() -> Check:
    """Check that Valkey answers."""
    try:
        info = _broker().info("server")
        lengths = {queue_name: _broker().llen(queue_name) for queue_name in QUEUES}
    except redis.RedisError as error:
        remedy = "Start Valkey, or correct VALKEY_URL. Jobs and episodes are safe in Postgres and continue afterwards."
        return Check("broker", "Broker", "fail", "Valkey does not answer.", remedy, details=(str(error),))
    name = "Valkey" if "valkey_version" in info else "Redis"
    version = info.get("valkey_version", info.get("redis_version", "of unknown version"))
    details = tuple(f"{count} messages in {queue_name}" for queue_name, count in lengths.items() if count)
    return Check("broker", "Broker", "ok", f"{name} {version}", details=details)


def check_workers(waiting: Mapping[str, Mapping[str, int]]) -> list[Check]:
    """Check that every queue has a worker.

    Args:
        waiting: what waits for the workers of each queue (`figures.waiting`).
    """
    try:
        alive = queue.workers_alive()
    except redis.RedisError:
        unknown: Callable[[str], Check] = lambda name: Check(  # noqa: E731 (one shape for each queue)
            name, QUEUES[name][0], "warn", "Not known, because the broker does not answer."
        )
        return [unknown(name) for name in QUEUES]
    return [
        _check_queue(name, [worker for worker in alive if worker.queue == name], waiting.get(name, {}))
        for name in QUEUES
    ]


def _check_queue(name: str, workers: list[queue.Worker], waiting: Mapping[str, int]) -> Check:
    title, command, effect = QUEUES[name]
    counts = ", ".join(
        f"{count:,} {kind if count > 1 else kind.removesuffix('s')}" for kind, count in waiting.items() if count
    )
    wait = f" Waiting: {counts}." if counts else ""
    if not workers:
        finding, remedy = f"This queue has no worker. {effect}{wait}", f"Start one: `{command}`"
        return Check(name, title, "fail", finding, remedy, waiting=waiting)
    youngest = min(worker.age for worker in workers)
    count = "1 process" if len(workers) == 1 else f"{len(workers)} processes"
    details = tuple(f"{worker.host}, process {worker.pid}, {worker.age:.0f} s ago" for worker in workers)
    return Check(
        name, title, "ok", f"{count}, last heartbeat {youngest:.0f} s ago.{wait}", details=details, waiting=waiting
    )


def check_sandbox() -> Check:
    """Check whether untrusted programs can run here. The levels are probed in the background, so this never waits."""
    title = "Sandbox"
    choice = levels.choice_if_known()
    if choice is None:
        return Check("sandbox", title, "warn", "The levels are being tested.", "Check again in a moment.")
    details = (*(f"{probe.level}: {probe.message}" for probe in choice.probes), *_terminals())
    if choice.level == "disabled":
        remedy = "Everything else works. docs/sandbox.md says what is needed, `gemweb sandbox` what was tested."
        return Check("sandbox", title, "warn", "Untrusted programs are not run.", remedy, "off", details)
    return Check("sandbox", title, "ok", f"Untrusted programs run at level {choice.level}.", details=details)


def _terminals() -> tuple[str, ...]:
    """How terminal commands are confined; empty until this is known, because the page does not wait for it."""
    confinement = shell.confinement_if_known()
    return () if confinement is None else (f"terminals: {confinement or shell.obstacle()}",)


def check_mcp() -> list[Check]:
    """Check that registered MCP servers are confined. The list is empty if no server is registered."""
    title = "MCP servers"
    try:
        servers = mcp_config.registered_servers()
    except InvalidArgument as error:
        return [Check("mcp", title, "warn", "The MCP server file cannot be read.", "Correct it.", "off", (str(error),))]
    if not servers:
        return []
    details = tuple(f"{name}: {server.in_words()}" for name, server in servers.items())
    unconfined = [name for name, server in servers.items() if server.command and server.confinement is None]
    if unconfined:
        remedy = 'They can do whatever a worker can. Remove "confined": false from the file if they work without it.'
        return [Check("mcp", title, "warn", f"Not confined: {', '.join(unconfined)}.", remedy, "open", details)]
    return [Check("mcp", title, "ok", f"{len(servers)} registered; commands are confined.", details=details)]


def check_versions() -> Check:
    """Report the versions in use."""
    finding = f"gemweb {settings.VERSION}, engine {gem.__version__}, Python {platform.python_version()}"
    return Check("versions", "Versions", "ok", finding)


def as_json(status: Report, *, with_figures: bool = False) -> dict[str, Any]:
    """The report as JSON, without hosts and processes, because it is public. The figures are not."""
    numbers = {name: figure for check in status.checks for name, figure in check.figures.items()}
    return {
        "ok": status.ok,
        "version": settings.VERSION,
        "checks": {
            check.name: {"state": check.state, "said": check.finding, "do": check.remedy} for check in status.checks
        },
        "waiting": {check.name: dict(check.waiting) for check in status.checks if check.waiting},
        **({"figures": numbers} if with_figures else {}),
    }


@functools.cache
def _broker() -> redis.Redis:
    return redis.Redis.from_url(settings.BROKER_URL, socket_timeout=2, socket_connect_timeout=2)
