"""The processes of the stack besides the two servers: web, play, worker, train and scheduler."""

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from gemweb.local.config import LOOPBACK, ROOT, StackConfig
from gemweb.local.process import Service
from gemweb.local.servers.postgres import home_of
from gemweb.local.state import secret

QUEUES = "evaluate,verify"


def environment(config: StackConfig, database_url: str, valkey_url: str) -> dict[str, str]:
    """The environment of every Python process of the stack. Variables that the user has set stay."""
    env = dict(os.environ)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # five processes import the same code: compile it once
    defaults = {
        "SECRET_KEY": secret(config.state_dir / "secret_key"),
        "BROKER_URL": valkey_url,
        "LOCAL_MODE": "1" if config.local else "0",
        "ALLOWED_HOSTS": ",".join(_hosts(config.bind)),
        "HTTPS": "0",  # the stack has no TLS; behind a proxy that has, set HTTPS=1
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",  # each worker process plays and learns with one thread of torch
    }
    for name, value in defaults.items():
        if not env.get(f"{name}_FILE"):
            env[name] = env.get(name) or value
    return env | {
        "DATABASE_URL": database_url,
        "VALKEY_URL": valkey_url,
        "STATE_DIR": str(config.state_dir),
        "DATABASE_DIR": "" if config.database_url else str(home_of(config.state_dir)),
        "BIND": config.bind,
        "PORT": str(config.port),
        "DJANGO_SETTINGS_MODULE": "gemweb.settings",
    }


def web(env: Mapping[str, str], listener: socket.socket) -> Service:
    """The web process. The supervisor holds its socket, so requests wait during a restart and are not refused."""
    return Service(
        name="web",
        command=_python("gemweb.serve", "--fd", str(listener.fileno()), "--grace", "1"),
        env=env,
        cwd=ROOT,
        pass_fds=(listener.fileno(),),
    )


def workers(env: Mapping[str, str]) -> list[Service]:
    """All background processes. Pages get a core before live episodes, and those before jobs."""
    slots = env.get("WORKER_SLOTS") or str(worker_slots())
    celery = ["-q", "-A", "gemweb", "worker", "-l", "WARNING", "--without-gossip", "--without-mingle"]
    worker = ["-Q", QUEUES, "-c", slots]
    # A training uses a core for minutes, so it must not occupy a slot of short evaluations.
    trainer = ["-Q", "train", "-c", env.get("TRAINING_SLOTS") or "1", "-n", "train@%h"]
    # The reaper has a separate process, so it finds lost work even if all workers are busy with slow agents.
    scheduler = ["-Q", "reap", "-P", "solo", "-n", "scheduler@%h", "--beat"]
    lean = {**env, "CELERY_SKIP_CHECKS": "1"}  # Django's checks import all pages and the API
    return [
        Service("play", _python("workers.play"), env=env, cwd=ROOT, niceness=2),
        Service("worker", _python("celery", *celery, *worker, flags=QUIET), env=env, cwd=ROOT, niceness=5),
        Service("train", _python("celery", *celery, *trainer, flags=QUIET), env=lean, cwd=ROOT, niceness=5),
        Service("scheduler", _python("celery", *celery, *scheduler, flags=QUIET), env=lean, cwd=ROOT),
    ]


def worker_slots() -> int:
    """How many processes of the worker play evaluations: one for each core, at least two and at most eight."""
    return min(max(os.cpu_count() or 2, 2), 8)


QUIET = ("-W", "ignore:You're running the worker")
"""Celery warns root about pickle, which is disabled here."""


def commands(env: Mapping[str, str], *names: str) -> Service:
    """Management commands, one after the other in one process, because starting Django takes longer than they do."""
    return Service("setup", _python("gemweb.local.commands", *names), env=env, cwd=ROOT)


def training(env: Mapping[str, str]) -> Service:
    """The installation of the packages for training, which ends by itself."""
    return Service("training", _python("gemweb.local.training"), env=env, cwd=ROOT)


def _python(module: str, *arguments: str, flags: tuple[str, ...] = ()) -> list[str | Path]:
    return [sys.executable, *flags, "-m", module, *arguments]


def _hosts(bind: str) -> list[str]:
    """The host names of this machine; only loopback names if the site listens only on loopback."""
    hosts = ["127.0.0.1", "localhost", "[::1]"]
    if bind in LOOPBACK:
        return hosts
    import psutil  # noqa: PLC0415 - rarely needed, and the start is timed

    addresses = [address.address for interface in psutil.net_if_addrs().values() for address in interface]
    reachable = [address for address in addresses if address.count(".") == 3]
    return sorted({*hosts, *reachable, socket.gethostname(), socket.getfqdn()})
