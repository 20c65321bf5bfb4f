"""What a new site is filled with: once, however often it is asked for."""

from typing import Any

import pytest
from django.core.management import call_command

import gem.registry
from apps.episodes.models import Batch, Episode
from apps.jobs.models import Job
from gem.agents import has_expert

TOO_LONG = {"game:Game2048-v1-hard", "game:Game2048-v1-extreme-hard"}

pytestmark = pytest.mark.django_db


def test_it_adds_examples_a_show_and_the_first_row_of_the_site_and_nothing_when_repeated(settings: Any) -> None:
    settings.SITE_ROWS = True
    call_command("demo", verbosity=0)
    examples = Episode.objects.filter(batch__kind=Batch.Kind.EXAMPLE)
    assert set(examples.values_list("env_id", flat=True)) == {
        spec.id
        for spec in gem.registry.specs()
        if has_expert(spec.id) and spec.cost == "fast" and spec.id not in TOO_LONG
    }
    assert Episode.objects.filter(show__showcase=True).count() == 1
    assert list(Job.objects.values_list("agent__slug", "spec__benchmark")) == [("random", "games-easy")]
    before = (Episode.objects.count(), Job.objects.count())
    call_command("demo", verbosity=0)
    assert (Episode.objects.count(), Job.objects.count()) == before


def test_an_environment_registered_later_gets_its_example_later() -> None:
    call_command("demo", verbosity=0)
    Episode.objects.filter(batch__kind=Batch.Kind.EXAMPLE, env_id="game:GuessTheNumber-v0-hard").delete()
    last = Episode.objects.filter(batch__kind=Batch.Kind.EXAMPLE).order_by("-slot").first()
    assert last is not None
    call_command("demo", verbosity=0)
    assert Episode.objects.filter(batch__kind=Batch.Kind.EXAMPLE, env_id="game:GuessTheNumber-v0-hard").count() == 1
