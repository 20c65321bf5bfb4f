"""The Celery application as workers of these tests run it: with the environments that only they know.

With WARM_TRAININGS a worker forks its trainings from one process that has imported torch (`tests/warm.py`).
"""

import os
import subprocess
from functools import partial
from types import SimpleNamespace
from typing import Any

from celery.signals import worker_process_init

from gemweb.celery import app
from tests import warm
from tests.workers import environments

environments.add()


@worker_process_init.connect
def fork_trainings(**_: Any) -> None:
    """Start trainings warm, where that is asked for; what the worker starts, and with what, stays its own."""
    if os.environ.get("WARM_TRAININGS"):
        from workers import training_process

        forking = SimpleNamespace(**{**vars(subprocess), "Popen": partial(warm.popen, "training")})
        training_process.subprocess = forking  # type: ignore[assignment]


__all__ = ["app"]
