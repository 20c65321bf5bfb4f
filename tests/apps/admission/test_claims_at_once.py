"""Workers that claim at the same moment serve different people, so that nobody is ahead by chance."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.jobs import leases, operations
from apps.jobs.leases import claims
from gem.evaluation.spec import EvaluationSpec

SPEC = {"agent": "random", "env_ids": ("game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy"), "episodes_per_env": 8}


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_the_same_moment_serve_different_people(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("anna", "berta"):
        operations.submit(User.objects.create_user(name), EvaluationSpec.model_validate(SPEC))
    is_inside, may_go_on = threading.Event(), threading.Event()
    claim_from = claims._claim_from

    def claim_slowly(*arguments: Any) -> Any:
        if not is_inside.is_set():
            is_inside.set()
            assert may_go_on.wait(60)
        return claim_from(*arguments)

    def owner_of_claim() -> int | None:
        try:
            claim = leases.claim()
            assert claim is not None
            return claim.owner_id
        finally:
            connection.close()

    monkeypatch.setattr(claims, "_claim_from", claim_slowly)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(owner_of_claim)
        assert is_inside.wait(60)
        second = threads.submit(owner_of_claim)
        while not (second.done() or waits_for_a_lock()):
            pass
        may_go_on.set()
        assert first.result() != second.result()


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database "
            "WHERE locktype = 'advisory' AND NOT granted AND datname = current_database())"
        )
        return bool(cursor.fetchone()[0])
