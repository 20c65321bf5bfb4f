"""Trainings, points and addresses that have the older names of two settings, `trace` and `value_coefficient`."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.jobs.models import Checkpoint, Job, Point
from apps.trainings import operations, records
from tests.apps.trainings.trainings import row, small, trained
from tests.html import tight

pytestmark = pytest.mark.django_db
OLDER = {"trace": 0.8, "value_coefficient": 0.25}


@pytest.fixture
def older(ada: User) -> Job:
    """A training with a checkpoint, as an earlier version stored it."""
    job = operations.submit(ada, small(algorithm="ppo", updates=4))
    records.finish(trained(job))
    job.refresh_from_db()
    present = {name: value for name, value in job.spec.items() if name not in ("gae_lambda", "value_loss_coef")}
    job.spec = {**present, **OLDER}
    job.save(update_fields=["spec"])
    Point.objects.filter(job=job, update=4).update(data={**row(4), "flat": 0.25})
    return job


def test_a_stored_training_has_its_pages(as_ada: Client, older: Job) -> None:
    assert as_ada.get(older.get_absolute_url()).status_code == 200
    assert as_ada.get(f"/jobs/compare/?job={older.pk}").status_code == 200


def test_a_stored_training_is_trained_further_with_its_settings(as_ada: Client, older: Job) -> None:
    parent = Checkpoint.objects.get(job=older)
    form = as_ada.get(f"/jobs/train/?parent={older.pk}&parent_update={parent.update}").context["form"]
    sent = {name: form[name].value() for name in form.fields if form[name].value() not in (None, "", False)}
    answer = as_ada.post("/jobs/train/", {**sent, "parent": older.pk, "parent_update": parent.update, "updates": 9})
    assert answer.status_code == 302, tight(answer)
    spec = Job.objects.exclude(pk=older.pk).get().spec
    assert (spec["gae_lambda"], spec["value_loss_coef"]) == (0.8, 0.25)
    assert not OLDER.keys() & spec.keys()


def test_an_address_with_the_older_names_fills_the_form(as_ada: Client) -> None:
    more = '{"trace": 0.8, "value_coefficient": 0.25}'
    form = as_ada.get("/jobs/train/", {"recipe": "guess-easy", "algorithm": "ppo", "more": more}).context["form"]
    assert (form["algorithm"].value(), form["more"].value()) == ("ppo", more)
    answer = as_ada.post("/jobs/train/", {"recipe": "guess-easy", "algorithm": "ppo", "more": more})
    assert answer.status_code == 302, tight(answer)
    spec = Job.objects.get().spec
    assert (spec["gae_lambda"], spec["value_loss_coef"]) == (0.8, 0.25)
