"""The visibility of a training, which its episodes, its agent and its checkpoints follow."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.trainings import best, operations, records
from tests.apps.trainings.trainings import add_checkpoint, row, small, trained

pytestmark = pytest.mark.django_db


def test_checkpoints_follow_their_training(as_ada: Client, ada: User, client: Client) -> None:
    job = operations.submit(ada, small(), visibility="private")
    claim = trained(job)
    first = Agent.objects.get(slug=f"checkpoint-{job.pk}-4")
    sample = job.samples.first()
    assert sample is not None
    addresses = [
        reverse("trainings:checkpoint", args=[job.pk, 4]),
        *(reverse("agents:weights", args=[slug]) for slug in (first.slug, job.agent.slug)),
        *(reverse("agents:agent", args=[slug]) for slug in (first.slug, job.agent.slug)),
        reverse("trainings:curves", args=[job.pk]),
        reverse("episodes:jsonl", args=[sample.episode_id]),
        reverse("trainings:train") + f"?parent={job.pk}&parent_update=4",
        reverse("trainings:train") + f"?agent={first.slug}",
    ]
    bob = Client()
    bob.force_login(User.objects.create_user("bob"))

    def statuses(person: Client) -> set[int]:
        return {person.get(address).status_code for address in addresses}

    assert (statuses(bob), statuses(as_ada)) == ({404}, {200})
    assert first.slug not in bob.get(reverse("trainings:compare"), {"job": job.pk}).content.decode()
    jobs.set_visibility(Job.objects.get(pk=job.pk), "public")
    assert statuses(bob) == {200}
    jobs.set_visibility(Job.objects.get(pk=job.pk), "private")
    records.record_points(claim, [row(update, **{"return": 0.9}) for update in range(5, 13)])
    add_checkpoint(claim, 12)
    assert set(Agent.objects.filter(owner=ada).values_list("visibility", flat=True)) == {"private"}
    assert best.evaluate(Job.objects.get(pk=job.pk)).visibility == "private"


def test_one_checkpoint_can_be_opened_alone(as_ada: Client, ada: User) -> None:
    job = operations.submit(ada, small(), visibility="private")
    trained(job)
    slug = f"checkpoint-{job.pk}-4"
    as_ada.post(reverse("agents:visibility", args=[slug]), {"visibility": "public"})
    assert Client().get(reverse("agents:weights", args=[slug])).status_code == 200
    assert Client().get(job.get_absolute_url()).status_code == 404
