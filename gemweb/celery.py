"""The Celery application. Its messages only wake workers; the work itself is stored in Postgres."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")

from django.conf import settings

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
