"""The one door to workers: tasks by name, with ids only, after the transaction has committed.

A lost message loses nothing. Postgres holds what has to be done, and the reaper sends it again.
"""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def enqueue(task: str, *ids: str | int) -> None:
    """Wake a worker: run the task called `task` with `ids`, once the current transaction commits."""
    transaction.on_commit(lambda: _send(task, ids))


def _send(task: str, ids: tuple[str | int, ...]) -> None:
    try:
        current_app.send_task(task, args=ids, retry=False)
    except OperationalError as error:
        logger.warning("The broker did not take %s%s; the reaper will send it again: %s", task, ids, error)
