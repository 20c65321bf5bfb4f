"""Accounts that are closed while somebody else holds rows locked, and the other duties of the reaper that delete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, models
from django.utils import timezone
from pytest_django import Settings

from apps.accounts import personal_data
from apps.accounts.models import User
from apps.admission.line import forget_parties
from apps.admission.models import Party
from apps.agents import uploads
from apps.agents.models import Upload
from apps.jobs import operations as jobs
from apps.jobs.models import Job, JobEvent, Shard
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def impatience(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whoever waits for a lock for longer than the reaper may gets an error."""
    settings.RUNS_DIR = settings.STATE_DIR = tmp_path
    monkeypatch.setattr("apps.leases.LOCK_SECONDS", 0.02)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '500ms'")
        yield
        cursor.execute("RESET lock_timeout")


@contextmanager
def locked(model: type[models.Model]) -> Iterator[None]:
    """Another connection holds all rows of this model locked."""
    other, table = connection.copy(), model._meta.db_table
    with closing(other):
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(f"SELECT 1 FROM {table} FOR UPDATE")
            yield


def test_closing_waits_for_no_lock_and_a_locked_account_delays_no_other() -> None:
    built_in("random")
    anna, bert = (User.objects.create_user(name, is_staff=name == "anna") for name in ("anna", "bert"))
    job = jobs.submit(anna, EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",)))
    of_site = jobs.submit(None, EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",)))
    jobs.cancel(of_site.pk, anna)
    with locked(Shard):
        personal_data.close(anna)
        personal_data.close(bert)
        assert not User.objects.filter(username="anna").exists()
        job.refresh_from_db()
        assert job.state == Job.State.QUEUED
        personal_data.erase_closed()
        assert list(User.objects.exclude(closed=None)) == [anna]
    personal_data.erase_closed()
    assert not User.objects.exclude(closed=None).exists()
    assert set(Job.objects.values_list("pk", flat=True)) == {of_site.pk}
    assert JobEvent.objects.filter(job=of_site).latest("seq").text == "cancelled"


def test_the_reaper_passes_over_locked_uploads_and_parties() -> None:
    long_ago = timezone.now() - timedelta(days=30)
    Upload.objects.create(slug="refused", owner=User.objects.create_user("anna"), problem="no")
    Upload.objects.update(created=long_ago)
    Party.objects.create(line="turn", name="user:1", served=long_ago)
    with locked(Upload), locked(Party):
        uploads.reap()
        assert forget_parties() == 0
    uploads.reap()
    assert forget_parties() == 1
    assert not Upload.objects.exists()
