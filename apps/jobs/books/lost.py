"""Booking what lost workers have reserved: nobody knows whether their requests were answered."""

from __future__ import annotations

from django.db import connection, transaction

from apps.jobs.books.store import ADD_TO_EPISODES, ADD_TO_JOB

ORPHANED = """
NOT reserved.is_estimated AND NOT EXISTS (
    SELECT FROM jobs_shard AS shard
    WHERE shard.job_id = reserved.job_id AND shard.lease_token = reserved.holder AND shard.state = 'running'
)
"""
ESTIMATE = f"""
WITH booked AS (
    UPDATE jobs_reservation AS reserved SET is_estimated = true
    WHERE reserved.job_id = %s AND {ORPHANED}
    RETURNING job_id, slot, side, tokens_in, tokens_out, tokens_in AS estimated_in, tokens_out AS estimated_out,
        1 AS requests, money
), of_episodes AS ({ADD_TO_EPISODES})
{ADD_TO_JOB}
"""  # noqa: S608 (all parts are constants)
JOBS = f"SELECT DISTINCT job_id FROM jobs_reservation AS reserved WHERE {ORPHANED}"  # noqa: S608 (constants)


@transaction.atomic
def book_lost(job_id: str) -> None:
    """Book the open reservations of workers that no longer hold a shard of the job, as estimates.

    Call it after the shards were released, with the shards locked. A worker that has the answer after all corrects the
    estimate.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM jobs_jobbooks WHERE job_id = %s FOR UPDATE", [job_id])
        if cursor.fetchone() is not None:
            cursor.execute(ESTIMATE, [job_id, job_id])


def jobs_with_lost_requests() -> list[str]:
    """The jobs whose books wait for `book_lost`, such as those of a backup that was restored."""
    with connection.cursor() as cursor:
        cursor.execute(JOBS)
        return [str(row[0]) for row in cursor.fetchall()]
