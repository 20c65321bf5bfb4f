"""Quotas: one table of what people may use, what they use, and what happens at the limit."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.accounts import quotas
from apps.accounts.models import CpuUse, QuotaOverride, User
from apps.agents import uploads
from apps.agents.models import Agent, Upload
from apps.jobs import leases
from apps.jobs import operations as jobs
from apps.jobs.errors import TooManyJobs
from apps.jobs.models import Job
from apps.play.shows import operations as shows
from apps.trainings import limits as training_limits
from apps.trainings import operations as trainings
from gem.evaluation.spec import EvaluationSpec
from gem.training.spec import read_spec

pytestmark = pytest.mark.django_db

ENV_ID = "game:GuessTheNumber-v0-easy"
SPEC = EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=2)


@pytest.fixture
def anna(settings: Settings) -> User:
    settings.CPU_SECONDS_PER_DAY = 3600
    return User.objects.create_user("anna")


def spend(user: User, seconds: float) -> None:
    quotas.record_cpu(CpuUse.Use.JOBS, {user.pk: seconds})


def said_by_command(*arguments: str) -> str:
    out = StringIO()
    call_command("quota", *arguments, stdout=out)
    return out.getvalue()


def test_cpu_seconds_of_today_add_up_over_workers_and_uses(anna: User) -> None:
    spend(anna, 300.0)
    spend(anna, 100.0)
    quotas.record_cpu(CpuUse.Use.LIVE, {anna.pk: 12.0, anna.pk + 1000: 5.0})  # the second person has been deleted
    assert quotas.cpu_today(anna) == 412.0
    assert CpuUse.objects.count() == 2


def test_the_account_page_says_what_is_used_and_what_happens_at_the_limit(anna: User, client: Client) -> None:
    spend(anna, 412.0)
    jobs.submit(anna, SPEC)
    client.force_login(anna)
    page = " ".join(client.get("/account/").content.decode().split())
    assert "412 of 3,600 CPU s today" in page
    assert "1 of 20 at a time" in page
    assert all(quota.title in page and quota.at_limit in page.replace("&#x27;", "'") for quota in quotas.table()
               if quotas.default_limit(quota.name) is not None)  # fmt: skip


def test_all_limits_are_asked_for_at_once(anna: User) -> None:
    quotas.set_limit(anna, quotas.ENDPOINTS, 3)
    with CaptureQueriesContext(connection) as asked:
        found = {one.quota.name: one.limit for one in quotas.uses(anna)}
    assert (found[quotas.ENDPOINTS], found[quotas.TRAININGS]) == (3, quotas.default_limit(quotas.TRAININGS))
    assert sum("accounts_quotaoverride" in query["sql"] for query in asked.captured_queries) == 1


def test_at_the_cpu_limit_live_episodes_are_refused_and_queued_jobs_wait_until_tomorrow(anna: User) -> None:
    job = jobs.submit(anna, SPEC)
    spend(anna, 3600.0)
    with pytest.raises(shows.TooManyShows, match="3,600 of your 3,600 CPU seconds"):
        shows.start(ENV_ID, Agent.objects.get(slug="random"), user=anna)
    assert leases.claim() is None
    others = jobs.submit(User.objects.create_user("bert"), SPEC)
    claimed = leases.claim()
    assert claimed is not None
    assert claimed.job_id == others.pk
    CpuUse.objects.update(day="2020-01-01")  # as if it had been another day
    claimed = leases.claim()
    assert claimed is not None
    assert claimed.job_id == job.pk


def test_an_administrator_gives_a_person_other_limits_and_takes_them_back(anna: User) -> None:
    spend(anna, 3600.0)
    assert quotas.refusal(anna, quotas.CPU_SECONDS)
    assert "3,600 of 7,200 CPU s today" in said_by_command("Anna", "--cpu-seconds", "7200")
    assert quotas.refusal(anna, quotas.CPU_SECONDS) == ""
    assert "no limit" in said_by_command("anna", "--cpu-seconds", "none")
    assert quotas.people_over_cpu() == []
    said_by_command("anna", "--cpu-seconds", "default")
    assert quotas.people_over_cpu() == [anna.pk]
    with pytest.raises(CommandError, match="whole number"):
        said_by_command("anna", "--cpu-seconds", "-1")
    with pytest.raises(CommandError, match="no account"):
        said_by_command("nobody")


def test_an_override_reaches_every_check(anna: User, settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path
    random = Agent.objects.get(slug="random")
    for quota in (quotas.JOBS_QUEUED, quotas.LIVE_EPISODES, quotas.TRAININGS, quotas.ENDPOINTS, quotas.UPLOADS):
        quotas.set_limit(anna, quota, 0)
        assert quotas.refusal(anna, quota), quota
        assert quotas.refusal(User.objects.get_or_create(username="bert")[0], quota) == "", quota
    with pytest.raises(TooManyJobs, match="queued jobs"):
        jobs.submit(anna, SPEC)
    with pytest.raises(shows.TooManyShows, match="stop one of them"):
        shows.start(ENV_ID, random, user=anna)
    with pytest.raises(TooManyJobs, match="at most 0 trainings"):
        trainings.submit(anna, read_spec({"env_id": ENV_ID}))


def test_a_person_with_more_running_jobs_gets_them_although_everybody_may_run_fewer(
    anna: User, settings: Settings
) -> None:
    settings.JOBS_RUNNING_PER_USER = 1
    for _ in range(3):
        jobs.submit(anna, SPEC)
    quotas.set_limit(anna, quotas.JOBS_RUNNING, 2)
    claims = [leases.claim() for _ in range(3)]
    assert [claim is not None for claim in claims] == [True, True, False]
    QuotaOverride.objects.update(most=None)
    assert leases.claim() is not None
    assert Job.objects.filter(state=Job.State.RUNNING).count() == 3


def test_full_storage_refuses_trainings_and_deletes_nothing(anna: User, settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path
    job = trainings.submit(anna, read_spec({"env_id": ENV_ID}))
    file = tmp_path / job.pk / "checkpoints" / "weights"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"0" * 3_000_000)
    assert 3.0 <= training_limits.megabytes_of(anna) < 3.1  # with the folders themselves
    quotas.set_limit(anna, quotas.STORAGE, 3)
    with pytest.raises(TooManyJobs, match="take 3 MB, and one person may use 3 MB"):
        trainings.submit(anna, read_spec({"env_id": ENV_ID}))
    assert file.exists()


def test_few_checkpoints_of_one_person_wait_to_be_checked(anna: User, settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = tmp_path
    waiting = [
        Upload.objects.create(slug=f"waits-{number}", owner=anna, name="Waits") for number in range(uploads.MAX_WAITING)
    ]
    with pytest.raises(uploads.UploadRefused, match="still wait to be checked") as refused:
        uploads.check_admission(anna, 1)
    assert refused.value.status == 429
    Upload.objects.filter(pk=waiting[0].pk).update(problem="It has no weights.")
    uploads.check_admission(anna, 1)
