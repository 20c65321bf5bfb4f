"""A training that collapses says so: on its page, in lists, in its log, in the API; and no checkpoint is its best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.jobs.errors import JobRefusal
from apps.jobs.leases import Claim
from apps.jobs.models import Job, JobEvent
from apps.trainings import best, operations, records
from apps.trainings.alarms import alarms_of
from apps.trainings.topics import events
from tests.apps.trainings.trainings import add_checkpoint, claimed, row, small

GOOD: Mapping[str, float] = {"return": 0.7, "success": 0.4, "invalid": 0.01}
BAD: Mapping[str, float] = {"return": -0.1, "success": 0.0, "invalid": 1.0}


def collapsing(job: Job, at: int = 9, updates: int = 14) -> Claim:
    """A training that loses its format in one update, written as a worker does: one update at a time."""
    claim = claimed(job)
    for update in range(1, updates + 1):
        records.record_points(claim, [row(update, **(GOOD if update < at else BAD))])
    return claim


def page_of(client: Client, job: Job) -> str:
    return " ".join(client.get(job.get_absolute_url()).content.decode().split())


def test_a_collapse_is_on_the_page_in_the_list_and_in_the_api(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(updates=20))
    assert "alarm" not in client.get("/jobs/").content.decode()
    collapsing(job)
    page = page_of(client, job)
    assert "Invalid actions since update 9." in page
    assert "&quot;metric&quot;: &quot;invalid&quot;, &quot;holds&quot;: true" in page
    assert "3 alarms" in client.get("/jobs/").content.decode()
    found = client.get(f"/api/v1/trainings/{job.pk}").json()
    assert {alarm["name"] for alarm in found["alarms"]} == set(found["alarm_names"]) == {"invalid", "return", "success"}
    (invalid,) = [alarm for alarm in found["alarms"] if alarm["name"] == "invalid"]
    assert (invalid["began"], invalid["ended"], invalid["holds"], invalid["value"]) == (9, None, True, 1.0)
    assert "cannot be parsed" in invalid["text"]
    assert "learning_rate" in invalid["advice"]


def test_an_alarm_is_one_line_of_the_log_when_it_begins_and_one_when_it_is_over(ada: User) -> None:
    job = operations.submit(ada, small(updates=30))
    claim = collapsing(job, updates=11)
    lines = job.events.filter(kind=JobEvent.Kind.ALARM, text__contains="invalid actions")
    assert [line.tone for line in lines] == ["warn"]
    for update in range(12, 18):
        records.record_points(claim, [row(update, **GOOD)])
    assert [line.text for line in lines.all()[1:]] == ["alarm over since update 12: invalid actions"]
    assert [alarm.name for alarm in alarms_of(Job.objects.get(pk=job.pk)) if alarm.holds] == []


def test_a_page_that_is_open_gets_the_alarm(ada: User) -> None:
    job = operations.submit(ada, small(updates=30))
    collapsing(job, updates=11)
    (event,) = events(Job.objects.get(pk=job.pk), 0, "first")
    assert 'id="alarms"' in event.html
    assert "Invalid actions since update 9." in event.html


def test_programs_get_the_alarm_as_an_event(client: Client, ada: User) -> None:
    from apps.trainings.events import training_events

    job = operations.submit(ada, small(updates=30))
    collapsing(job, updates=11)
    sent = [event.model_dump() for event in training_events(job, list(job.events.all()))]
    (alarm,) = [event["alarm"] for event in sent if event["event"] == "training.alarm"]
    assert (alarm["name"], alarm["began"], alarm["holds"]) == ("invalid", 9, True)


def test_a_training_of_an_earlier_version_has_the_alarms_of_its_points(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(updates=14))
    records.finish(collapsing(job))
    job.refresh_from_db()
    stored = alarms_of(job)
    assert [alarm.name for alarm in stored]
    job.latest.pop("alarms")
    job.save(update_fields=["latest"])
    assert alarms_of(job) == stored
    assert "3 alarms" in client.get("/jobs/").content.decode()
    assert "Invalid actions since update 9." in page_of(client, job)


def test_the_old_name_of_a_metric_raises_the_same_alarm(ada: User) -> None:
    job = operations.submit(ada, small(updates=14))
    records.record_points(claimed(job), [row(update, flat=1.0) for update in range(1, 9)])
    assert [alarm.name for alarm in alarms_of(Job.objects.get(pk=job.pk))] == ["flat"]


def test_an_update_that_is_made_again_takes_its_alarm_back(ada: User) -> None:
    job = operations.submit(ada, small(updates=30))
    claim = collapsing(job, updates=11)
    records.record_points(claim, [row(update, **GOOD) for update in range(8, 13)])
    assert alarms_of(Job.objects.get(pk=job.pk)) == ()


def test_a_collapsed_training_has_no_best_checkpoint_and_evaluates_none(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(updates=14), evaluate_best=True)
    claim = collapsing(job)
    add_checkpoint(claim, 14)
    records.finish(claim)
    assert best.best_of(job) is None
    assert not Job.objects.evaluations().exists()
    why = "No checkpoint is called the best, because none is clearly better than the start"
    assert job.events.filter(text__contains=why).exists()
    page = page_of(client, job)
    assert why in page
    assert (
        'data-tone="win"><svg class="icon" aria-hidden="true"><use href="/static/icons.svg#check"/></svg>best'
        not in page
    )
    found = client.get(f"/api/v1/trainings/{job.pk}").json()
    assert found["best_update"] is None
    assert why in found["best_reason"]
    with pytest.raises(JobRefusal, match="none is clearly better"):
        operations.evaluate_best(job.pk, ada)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, "none is clearly better"),
        ({"success": 0.0, "climbs": 1.0}, "solved no episode"),
        ({"updates": 3}, "3 updates cannot show"),
    ],
)
def test_no_checkpoint_is_the_best_without_an_improvement(ada: User, changes: dict[str, Any], why: str) -> None:
    job = operations.submit(ada, small(updates=20))
    claim = claimed(job)
    updates, climbs = changes.get("updates", 20), changes.get("climbs", 0.0)
    for update in range(1, updates + 1):
        noise = 0.02 * (-1) ** update
        point = row(update, changes.get("success", 0.5), **{"return": 0.5 + noise + climbs * update / 20})
        records.record_points(claim, [point])
    add_checkpoint(claim, updates)
    assert why in best.choose(job).reason


def test_a_training_that_stopped_by_itself_is_no_success_and_goes_on_when_resumed(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(updates=20, stop_on=["collapse"]))
    claim = collapsing(job, updates=11)
    records.stop(claim, "The training stopped by itself after update 11: invalid actions since update 9.")
    stopped = Job.objects.get(pk=job.pk)
    assert (stopped.state, stopped.over, stopped.shards.get().state) == (Job.State.STOPPED, True, "stopped")
    page = page_of(client, stopped)
    assert "stopped by itself after update 11" in page
    assert "stopped by its alarm" in page
    assert "budget" not in page
    assert "stopped by its alarm" in client.get("/jobs/?state=stopped").content.decode()
    told = client.get(f"/api/v1/jobs/{job.pk}").json()
    assert (told["state"], "after update 11" in told["reason"]) == ("stopped", True)
    ended = job.events.get(kind="ended")
    assert (ended.data["state"], ended.tone) == ("stopped", "warn")
    resumed = operations.resume(job.pk, ada)
    assert (resumed.state, resumed.spec["stop_on"]) == (Job.State.QUEUED, [])
    assert job.events.filter(text__contains="no longer stops for alarms").exists()


def test_the_form_has_the_choice(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert "Stop by itself if the policy collapses" in client.get("/jobs/train/").content.decode()
    client.post("/jobs/train/", {"recipe": "guess-easy", "stop_on_collapse": "on", "more": '{"stop_on": ["kl"]}'})
    job = Job.objects.trainings().get()
    assert job.spec["stop_on"] == ["kl", "collapse"]
    claim = claimed(job)
    add_checkpoint(claim, 1)
    fork = client.get(f"/jobs/train/?parent={job.pk}&parent_update=1").context["form"]
    assert "checked" in str(fork["stop_on_collapse"])
    assert "collapse" not in str(fork["more"])
    answer = client.post("/jobs/train/", {"recipe": "guess-easy", "more": '{"stop_on": "nonsense"}'})
    assert answer.status_code == 422
    assert "stop_on" in answer.content.decode()
