"""Limits of what one party may have: its requests count and store one after the other, or two at once exceed a limit.

Of people with an account, a transaction can lock the row. Visitors and addresses have none.
"""

from __future__ import annotations

from django.db import connection


def wait_for_turn(kind: str, party: str) -> None:
    """Go on when no other transaction counts what a party has of this kind; others wait until the caller's ends.

    Args:
        party: the name of a person (`models.name_of`) or a hashed address; empty for the site itself, which has no
            limits.
    """
    if party:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [f"{kind} of {party}"])
