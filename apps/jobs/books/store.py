"""How a worker writes the books of its job (`gem.agents.endpoint.ledger.Store`): all that waits is one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.leases import LeaseLost
from gem.agents.endpoint.amounts import Amount
from gem.agents.endpoint.ledger import Entry, Limits, Verdict, judge

ADD_TO_EPISODES = """
INSERT INTO jobs_episodebooks AS books
    (job_id, slot, side, tokens_in, tokens_out, estimated_in, estimated_out, requests, money)
SELECT job_id, slot, side, sum(tokens_in), sum(tokens_out), sum(estimated_in), sum(estimated_out), sum(requests),
    sum(money)
FROM booked GROUP BY job_id, slot, side
ON CONFLICT (job_id, slot, side) DO UPDATE SET
    tokens_in = books.tokens_in + excluded.tokens_in, tokens_out = books.tokens_out + excluded.tokens_out,
    estimated_in = books.estimated_in + excluded.estimated_in,
    estimated_out = books.estimated_out + excluded.estimated_out,
    requests = books.requests + excluded.requests, money = books.money + excluded.money
"""
ADD_TO_JOB = """
UPDATE jobs_jobbooks AS books SET
    tokens_in = books.tokens_in + sums.tokens_in, tokens_out = books.tokens_out + sums.tokens_out,
    estimated_in = books.estimated_in + sums.estimated_in, estimated_out = books.estimated_out + sums.estimated_out,
    requests = books.requests + sums.requests, money = books.money + sums.money
FROM (
    SELECT coalesce(sum(tokens_in), 0) AS tokens_in, coalesce(sum(tokens_out), 0) AS tokens_out,
        coalesce(sum(estimated_in), 0) AS estimated_in, coalesce(sum(estimated_out), 0) AS estimated_out,
        coalesce(sum(requests), 0) AS requests, coalesce(sum(money), 0) AS money
    FROM booked
) AS sums
WHERE books.job_id = %s
"""
"""For a query with a part `booked`: rows of what is to be added, negative where an estimate is corrected."""
SETTLE = f"""
WITH closed AS (
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::numeric[], %s::bool[], %s::bool[])
        AS entry(number, tokens_in, tokens_out, money, is_estimated, is_sent)
), booked AS (
    DELETE FROM jobs_reservation AS reserved USING closed
    WHERE reserved.holder = %s AND reserved.number = closed.number
    RETURNING reserved.job_id, reserved.slot, reserved.side,
        closed.tokens_in - CASE WHEN reserved.is_estimated THEN reserved.tokens_in ELSE 0 END AS tokens_in,
        closed.tokens_out - CASE WHEN reserved.is_estimated THEN reserved.tokens_out ELSE 0 END AS tokens_out,
        (closed.is_estimated::int - reserved.is_estimated::int) * reserved.tokens_in AS estimated_in,
        (closed.is_estimated::int - reserved.is_estimated::int) * reserved.tokens_out AS estimated_out,
        closed.is_sent::int - reserved.is_estimated::int AS requests,
        closed.money - CASE WHEN reserved.is_estimated THEN reserved.money ELSE 0 END AS money
), of_episodes AS ({ADD_TO_EPISODES})
{ADD_TO_JOB}
"""  # noqa: S608 (all parts are constants)
RESERVE = """
INSERT INTO jobs_reservation (holder, job_id, number, slot, side, tokens_in, tokens_out, money, is_estimated)
SELECT %s, %s, entry.*, false
FROM unnest(%s::bigint[], %s::int[], %s::text[], %s::bigint[], %s::bigint[], %s::numeric[]) AS entry
"""
RESERVED = """
SELECT coalesce(sum(tokens_in), 0)::bigint, coalesce(sum(tokens_out), 0)::bigint, coalesce(sum(money), 0)
FROM jobs_reservation WHERE job_id = %s AND NOT is_estimated
"""


class JobStore:
    """The books of a job in the database, for a worker that holds shards of it.

    Args:
        shard_ids: the shards that it holds.
        token: the lease token of the shards. Without a lease nothing is reserved any more; what was reserved before
            can still be booked, because it was sent.
    """

    def __init__(self, job_id: str, shard_ids: Callable[[], Sequence[int]], token: uuid.UUID, limits: Limits) -> None:
        self._job_id = job_id
        self._shard_ids = shard_ids
        self._token = token
        self._limits = limits
        self._has_limits = limits != Limits()
        self._is_open = False

    def write(self, closed: Sequence[Entry], asked: Sequence[Entry]) -> Verdict:
        """See `Store.write`.

        Raises:
            LeaseLost: if requests ask, and another worker has the shard or the job has ended.
            DatabaseError: if the database is away; nothing is written then.
        """
        try:
            verdict = self._write(closed, asked)
        except DatabaseError:
            connection.close()  # the next write opens another one
            raise
        if verdict is None:
            raise LeaseLost(f"a shard of job {self._job_id} is no longer ours")
        return verdict

    @transaction.atomic
    def _write(self, closed: Sequence[Entry], asked: Sequence[Entry]) -> Verdict | None:
        """Write everything in one transaction. Returns None if requests ask, and the lease is lost."""
        with connection.cursor() as cursor:
            owns = not asked or self._owns(cursor)
            refusal = self._lock(cursor)
            if closed:
                cursor.execute(SETTLE, [*_columns_of_closed(closed), self._token, self._job_id])
            if not asked:
                return Verdict(0)
            return self._reserve(cursor, asked, refusal) if owns else None

    def close(self) -> None:
        """See `Store.close`."""
        connection.close()

    def _owns(self, cursor: CursorWrapper) -> bool:
        """Whether a lease holds. The lock makes those who take the shards back wait for the end of this write."""
        cursor.execute(
            "SELECT FROM jobs_shard WHERE id = ANY(%s) AND lease_token = %s AND state = 'running'"
            " ORDER BY id FOR KEY SHARE",
            [list(self._shard_ids()), self._token],
        )
        return cursor.fetchone() is not None

    def _lock(self, cursor: CursorWrapper) -> str:
        """Lock the books of the job, which are opened with the first write. Returns why nothing is sent any more."""
        if not self._is_open:
            cursor.execute("INSERT INTO jobs_jobbooks (job_id) VALUES (%s) ON CONFLICT DO NOTHING", [self._job_id])
            self._is_open = True
        cursor.execute("SELECT refusal FROM jobs_jobbooks WHERE job_id = %s FOR UPDATE", [self._job_id])
        row = cursor.fetchone()
        return str(row[0]) if row else ""

    def _reserve(self, cursor: CursorWrapper, asked: Sequence[Entry], refusal: str) -> Verdict:
        verdict = Verdict(0, refusal) if refusal else self._judge(cursor, asked)
        granted = asked[: verdict.granted]
        if granted:
            cursor.execute(RESERVE, [self._token, self._job_id, *_columns_of_asked(granted)])
        if verdict.refusal and not refusal:
            cursor.execute("UPDATE jobs_jobbooks SET refusal = %s WHERE job_id = %s", [verdict.refusal, self._job_id])
        return verdict

    def _judge(self, cursor: CursorWrapper, asked: Sequence[Entry]) -> Verdict:
        if not self._has_limits:
            return Verdict(len(asked))
        cursor.execute("SELECT tokens_in, tokens_out, money FROM jobs_jobbooks WHERE job_id = %s", [self._job_id])
        booked = Amount(*cursor.fetchone())
        cursor.execute(RESERVED, [self._job_id])
        return judge(self._limits, booked, Amount(*cursor.fetchone()), [entry.bound for entry in asked])


def _columns_of_closed(closed: Sequence[Entry]) -> list[list[Any]]:
    columns: tuple[list[Any], ...] = (
        [entry.number for entry in closed],
        [entry.used.tokens_in for entry in closed],
        [entry.used.tokens_out for entry in closed],
        [Decimal(entry.used.money) for entry in closed],
        [entry.is_estimated for entry in closed],
        [entry.is_sent for entry in closed],
    )
    return list(columns)


def _columns_of_asked(asked: Sequence[Entry]) -> list[list[Any]]:
    columns: tuple[list[Any], ...] = (
        [entry.number for entry in asked],
        [entry.account.episode for entry in asked],
        [entry.account.side for entry in asked],
        [entry.bound.tokens_in for entry in asked],
        [entry.bound.tokens_out for entry in asked],
        [entry.bound.money for entry in asked],
    )
    return list(columns)
