"""Several trainings that are submitted at once: all of them are stored, or none."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs.errors import TooManyJobs
from apps.jobs.models import Job
from apps.trainings import operations
from tests.apps.meanwhile import Elsewhere, meanwhile
from tests.apps.trainings.trainings import small

pytestmark = pytest.mark.django_db(transaction=True)

THREE = {"recipe": "guess-easy", "seeds": "3", "idempotency_key": "three"}


def submit_three(browser: Client) -> HttpResponse:
    return browser.post("/jobs/train/", THREE)


@pytest.fixture
def room_for_three(settings: Settings) -> None:
    settings.TRAININGS_PER_USER = 3


def test_without_room_for_all_none_is_stored(as_ada: Client, ada: User, settings: Settings) -> None:
    settings.TRAININGS_PER_USER = 2
    answer = submit_three(as_ada)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "These are 3 trainings, and one person may have at most 2 that wait or run" in page
    assert "None of them was submitted. Choose fewer seeds or algorithms" in page
    assert not Job.objects.exists()


@pytest.mark.usefixtures("room_for_three")
def test_another_one_that_comes_first_leaves_none_of_three(as_ada: Client, ada: User) -> None:
    another = Elsewhere(lambda: operations.submit(ada, small()))
    with meanwhile("FOR NO KEY UPDATE", another) as it:
        answer = submit_three(as_ada)
    another.end()
    assert it.happened
    assert another.refusal is None
    assert answer.status_code == 422
    assert [job.spec["env_id"] for job in Job.objects.all()] == [small().env_id], "a part of three was stored"
    assert Agent.objects.filter(owner=ada).count() == 1


@pytest.mark.usefixtures("room_for_three")
def test_another_one_that_comes_between_waits_and_finds_no_room(as_ada: Client, ada: User) -> None:
    another = Elsewhere(lambda: operations.submit(ada, small()))
    with meanwhile('INTO "jobs_job"', another) as it:
        answer = submit_three(as_ada)
    another.end()
    assert it.happened
    assert answer.status_code == 302
    assert isinstance(another.refusal, TooManyJobs)
    assert sorted(job.spec["seed"] for job in Job.objects.all()) == [0, 1, 2]


def test_what_fails_between_two_of_them_leaves_none(as_ada: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    create_agent, made = operations._create_agent, []

    def create_two(*arguments: object) -> Agent:
        made.append(arguments)
        if len(made) == 3:
            raise operations.Unfit("No agent can be made now.")
        return create_agent(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(operations, "_create_agent", create_two)
    assert submit_three(as_ada).status_code == 422
    assert not Job.objects.exists()


@pytest.mark.usefixtures("room_for_three")
def test_three_that_are_sent_twice_at_once_are_stored_once(as_ada: Client) -> None:
    answers = []
    again = Elsewhere(lambda: answers.append(submit_three(as_ada)))
    with meanwhile('INTO "jobs_job"', again) as it:
        answers.append(submit_three(as_ada))
    again.end()
    assert it.happened
    assert [answer.status_code for answer in answers] == [302, 302]
    assert answers[0]["Location"] == answers[1]["Location"]
    assert Job.objects.count() == 3
