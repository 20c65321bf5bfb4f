"""Transactions that have to run one at a time: those that count what a person has, store more and keep to a limit.

Of people with an account, a transaction can lock the row. Visitors, addresses and the workers that claim have none.
"""

from __future__ import annotations

from django.db import connection


def one_at_a_time(kind: str, party: str) -> None:
    """Wait until no other transaction has called this with the same values; others wait until the caller's ends.

    Args:
        kind: what is counted or claimed.
        party: whose it is: the name of a person (`models.name_of`), a hashed address, or another key. Empty for the
            site itself, which has no limits and does not wait.
    """
    if party:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"{kind} of {party}"])
