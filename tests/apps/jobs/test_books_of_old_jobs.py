"""Jobs that are older than the books get those of their episodes, and a state if a budget had stopped them."""

from decimal import Decimal
from importlib import import_module

import pytest
from django.db import connection

from apps.agents.models import Agent
from apps.episodes.models import Batch
from apps.jobs.books.reading import books_of
from apps.jobs.models import Job, JobEvent, Shard

migration = import_module("apps.jobs.migrations.0014_books")


@pytest.mark.django_db
def test_old_jobs_get_books_and_the_state_of_their_end() -> None:
    agent = Agent.objects.create(slug="a-server", name="a server", kind="endpoint", colour=1)
    jobs = [
        Job.objects.create(
            spec={}, agent=agent, batch=Batch.objects.create(kind=Batch.Kind.JOB), episodes_total=2, set_up=set_up,
            state="cancelled", reason=reason,
        )
        for set_up, reason in (({"prices": {"tokens_in": 1.5, "tokens_out": 10}}, "The budget is used up."), (None, ""))
    ]  # fmt: skip
    for number, job in enumerate((jobs[0], jobs[0], jobs[1])):
        tokens = {"tokens_in": 101, "tokens_out": 7} if job is jobs[0] else {}
        Shard.objects.create(job=job, number=number, env_id="x", first_slot=number, count=1, **tokens)
    for job in jobs:
        JobEvent.objects.create(job=job, seq=1, kind="ended", text="ended", data={"state": "cancelled"})
    with connection.cursor() as cursor:
        cursor.execute(migration.STOPPED)
        cursor.execute(migration.BOOKS)
    assert [Job.objects.get(pk=job.pk).state for job in jobs] == ["stopped", "cancelled"]
    assert [job.events.get().data["state"] for job in jobs] == ["stopped", "cancelled"]
    books = books_of(jobs[0].pk)
    assert (books.tokens_in, books.tokens_out, books.estimated) == (202, 14, 0)
    assert books.money == Decimal("0.000443")
    assert not hasattr(jobs[1], "books")
