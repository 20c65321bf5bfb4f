"""Real worker processes on the test's database, to be killed."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from tests import warm
from tests.services import ROOT

PATIENCE = 240.0
"""Seconds, for a machine that does other things meanwhile; nothing is waited for longer than it takes."""


def environment(**more: str) -> dict[str, str]:
    """What a worker process needs to know."""
    database = connection.settings_dict
    url = (
        f"postgres://{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
    )
    return {**os.environ, "DATABASE_URL": url, **more}


class Worker:
    """A Celery worker with its pool and, unless told otherwise, the scheduler: one process group."""

    def __init__(self, *arguments: str, scheduler: bool = True, queues: str = "evaluate,reap", **more: str) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the worker)
        command = [sys.executable, "-m", "celery", "-A", "tests.workers.app", "worker", "-Q", queues]
        command += ["--loglevel", "WARNING", *(arguments or ("--concurrency", "2"))]
        command += ["--beat"] if scheduler else []
        self.process = warm.popen(
            "web",
            command,
            cwd=ROOT,
            env=environment(**more),
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def kill(self) -> None:
        """kill -9 of the whole process group."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, or has not made its group yet
            self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """End it as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE)

    def output(self) -> str:
        """What it printed."""
        self.log.seek(0)
        return self.log.read()


@contextmanager
def worker(*arguments: str, scheduler: bool = True, queues: str = "evaluate,reap", **more: str) -> Iterator[Worker]:
    """A worker while the block lasts; nothing of it stays. Its output is printed if the block fails."""
    running = Worker(*arguments, scheduler=scheduler, queues=queues, **more)
    try:
        yield running
    except BaseException:
        print(running.output())
        raise
    finally:
        running.kill()


def wait_until(condition: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Return as soon as `condition` holds; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"after {seconds:.0f} s still not: {what}")
