"""What a process of a worker does first: it gives on the work of those that died, one of which it may replace.

A pool starts a process as soon as it sees one die, and a supervisor starts a worker again, so that the work of a killed
process goes on at once and not when its leases expire.
"""

from __future__ import annotations

import logging
from typing import Any

from celery.signals import worker_process_init
from django.db import Error as DatabaseError
from django.db import connection

from apps.jobs.leases import recovery
from apps.leases import expire_leases_of_the_dead

logger = logging.getLogger(__name__)


@worker_process_init.connect
def recover(**_: Any) -> None:
    """Give the work of dead processes of this machine to others."""
    try:
        expire_leases_of_the_dead()
        recovery.reap()
    except DatabaseError as error:
        logger.warning("The work of dead processes waits for the scheduler: %s", error)
    finally:
        connection.close()
