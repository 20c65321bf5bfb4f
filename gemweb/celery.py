"""The Celery application. Its messages only wake workers; the work itself is stored in Postgres."""

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")

from django.conf import settings
from django.db import close_old_connections

WORK = ["workers.evaluate", "workers.train", "workers.uploads", "workers.verify", "workers.lens", "workers.webhooks"]
WORK += [
    "workers.learnability",
    "workers.curves",
    "workers.reported",
    "workers.standings",
    "workers.daily",
    "workers.reap",
    "workers.deaths",
    "workers.beat",
]
STANDINGS_SECONDS, DAILY_SECONDS = 30.0, 20.0
"""How often results are kept, and the daily seed is looked after."""
EXPIRY_SECONDS = 300.0
"""After this time, a periodic task that any worker may run is dropped, so that few of them wait for a worker that was
away. Celery compares the clocks of the two hosts, so it must be longer than these differ."""
app = Celery("gemweb", broker=settings.BROKER_URL, include=WORK)
app.set_default()  # for all threads, not only the importing one
app.conf.update(
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    result_expires=None,  # there are none, so nothing looks for old ones
    task_acks_late=True,
    task_reject_on_worker_lost=False,  # lost work is repeated after its lease, up to a limit
    worker_prefetch_multiplier=1,
    worker_proc_alive_timeout=30.0,  # a process that begins may wait for Postgres (`workers.deaths`)
    worker_soft_shutdown_timeout=2.0,
    worker_hijack_root_logger=False,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_timeout": 3.0, "socket_connect_timeout": 3.0},  # requests must not hang
    task_default_queue="evaluate",
    task_routes={
        "evaluate.*": {"queue": "evaluate"},
        "train.*": {"queue": "train"},
        "verify.*": {"queue": "verify"},
        "webhooks.*": {"queue": "verify"},
        "standings.*": {"queue": "verify"},
        "daily.*": {"queue": "verify"},
        "lens.*": {"queue": "verify"},
        "learnability.*": {"queue": "verify"},
        "curves.*": {"queue": "verify"},
        "reap.*": {"queue": "reap"},
    },
    CELERY_DB_REUSE_MAX=sys.maxsize,  # or each task closes the whole pool, and opens another one
    beat_scheduler="gemweb.schedule:Scheduler",
    beat_schedule={
        "reap": {
            "task": "reap.everything",
            "schedule": settings.REAP_SECONDS,
            "options": {"expires": 3 * settings.REAP_SECONDS},
        },
        "webhooks": {
            "task": "webhooks.deliver",
            "schedule": settings.WEBHOOK_SECONDS,
            "options": {"expires": EXPIRY_SECONDS},
        },
        "standings": {
            "task": "standings.refresh",
            "schedule": STANDINGS_SECONDS,
            "options": {"expires": EXPIRY_SECONDS},
        },
        "daily": {"task": "daily.keep", "schedule": DAILY_SECONDS, "options": {"expires": EXPIRY_SECONDS}},
        "tidy": {"task": "reap.tidy", "schedule": 3600.0, "options": {"expires": 3600.0}},
    },
)


@task_prerun.connect
@task_postrun.connect
def return_connections(sender: Any, **_: Any) -> None:
    """Give the connection to Postgres back to the pool of this process."""
    if not sender.request.is_eager:  # an eager task is part of what its caller does
        close_old_connections()
