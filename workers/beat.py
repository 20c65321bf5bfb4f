"""The process that sends periodic tasks is a child of the scheduler: when it dies, the scheduler ends too.

Celery does not look after it. A scheduler without it would run on and do nothing; one that ends is started again by
whatever supervises it.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from celery.signals import worker_ready
from celery.worker import state

logger = logging.getLogger(__name__)
FAILED = 1
GRACE_SECONDS = 1.0


@worker_ready.connect
def watch(sender: Any, **_: Any) -> None:
    """Watch the process that sends periodic tasks, if this worker has one."""
    process = sender.controller.beat
    if process is not None:
        threading.Thread(target=_end_with, args=(process,), name="watch-beat", daemon=True).start()


def _end_with(process: Any) -> None:
    process.join()
    time.sleep(GRACE_SECONDS)  # Ctrl-C ends both, in any order
    if getattr(state, "should_stop", None) is None and getattr(state, "should_terminate", None) is None:
        logger.error(
            "The process that sends periodic tasks has died (code %s). The scheduler ends, to be started again.",
            process.exitcode,
        )
        state.should_stop = FAILED  # type: ignore[assignment]
